"""Loopback servers that speak the APIs of platforms."""
