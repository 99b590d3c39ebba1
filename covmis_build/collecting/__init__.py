"""Collect posts from platforms: crawls, plans, prices, retries; one module per platform."""
