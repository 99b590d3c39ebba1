"""Read files from others: bounded reading, and the single table reader. Tables are opened in a child process."""
