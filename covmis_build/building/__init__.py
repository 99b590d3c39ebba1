"""Build the tables from archive and claim list to sample: six stages, and a ledger of their state."""
