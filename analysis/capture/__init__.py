"""Captures (pcap) to columns (Parquet)."""
