"""From archive and claim list to sample: the six stages, and the ledger that knows what is stale."""
