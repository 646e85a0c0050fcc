"""What packets show of the documents that LEDBAT follows; see docs/howto/conformance.md."""
