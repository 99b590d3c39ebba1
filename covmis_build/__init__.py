"""covmis: build a stance corpus from a list of claims, and judge systems on it."""

__version__ = "0.1.0"
