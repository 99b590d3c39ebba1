"""Rank posts by similarity to a claim: full text first, then a sentence model, fused."""
