"""Pages and figures: from finished tables to a self-contained HTML file without active content from outside."""
