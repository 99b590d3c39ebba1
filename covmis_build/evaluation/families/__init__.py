"""The measures, one file a family."""
