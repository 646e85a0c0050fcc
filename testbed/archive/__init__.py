"""Everything measured as one archive, and its repetition."""
