"""Match posts with queries."""
