"""A run again up to an instant, and another future from there; see docs/howto/rewind.md."""

ON_SITE = {"rewind": ("Rewind", "A run, and what would have become of it from an instant on")}
