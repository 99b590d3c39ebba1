"""Pages and figures: finished tables in, one safe self-contained HTML file out."""
