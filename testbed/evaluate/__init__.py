"""Whether a control meets the criteria of RFC 9743, by runs beside a baseline."""

ON_SITE = {"evaluate": ("Evaluation", "Whether it meets the criteria of RFC 9743 for new congestion controls")}
