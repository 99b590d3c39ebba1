"""The demonstration: its generator and its simulated annotators."""
