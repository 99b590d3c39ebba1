"""Rounds that are frozen when they open, labels that are only appended, agreement, and the seal."""
