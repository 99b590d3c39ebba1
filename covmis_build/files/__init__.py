"""Foreign bytes: files read whole, and the one reader of tables. Tables of strangers are opened in a child process."""
