"""What came out of a study: rows, scores, summaries, the report."""
