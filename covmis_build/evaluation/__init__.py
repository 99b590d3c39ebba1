"""The evaluation harness: measures, scores with intervals, honest comparisons, splits, leakage, published figures."""
