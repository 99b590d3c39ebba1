"""The published corpus: built from gold and frozen items, counted, described, verified, rebuilt."""
