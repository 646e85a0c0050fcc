"""Which implementations understand each other; see docs/howto/interop.md."""
