"""Claim lists: import, checks against the rules of A.1, selection, export."""
