"""What users ask for: one command line, and a folder for each product."""
