"""A run again up to an instant, and another future from there; see docs/howto/rewind.md."""
