"""Which implementations understand each other; see docs/howto/interop.md."""

ON_SITE = {"interop": ("Interoperation", "Which implementations understand each other")}
