"""Text processing: query expressions, URLs, words, languages, near-duplicates."""
