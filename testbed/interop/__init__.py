"""Which implementations understand each other; see docs/interop.md."""
