"""Statistics that stand alone: tables in, numbers out."""
