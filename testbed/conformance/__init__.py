"""What packets show of the documents that LEDBAT follows; see docs/howto/conformance.md."""

ON_SITE = {"conformance": ("Conformance", "What its packets show of RFC 6817, LEDBAT++, RFC 9840 and BEP 29")}
