"""Whether an implementation keeps its contract; see docs/reference/implementations.md."""

ON_SITE = {"check": ("Contract", "Whether an implementation keeps what every scenario relies on")}
