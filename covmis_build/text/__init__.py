"""Text as covmis sees it: expressions, addresses, words, languages, near-duplicates."""
