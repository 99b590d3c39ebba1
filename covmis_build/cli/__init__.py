"""The command line: thin, and the only part that prints."""
