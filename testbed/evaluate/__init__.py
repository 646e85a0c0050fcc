"""Whether a control meets the criteria of RFC 9743, by runs beside a baseline."""
