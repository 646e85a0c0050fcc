"""Claims against measurements: spread over seeds, tolerance rules, verdicts."""
