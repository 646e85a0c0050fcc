"""What came of carrying something out again: the same bytes, or what differs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Repetition:
    """A run or a script carried out again: which of its results differ, and which parts of its provenance."""

    name: str
    files: int
    different: list[str]
    made_with_another: list[str]
    kind: str = "captures and traces"

    def __str__(self) -> str:
        """Describe it in a line."""
        made = f" (made with another {', '.join(self.made_with_another)})" if self.made_with_another else ""
        if not self.different:
            return f"{self.name}: identical, {self.files} {self.kind}{made}"
        return f"{self.name}: DIFFERS in {', '.join(self.different)}{made}"


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Name the parts of two mappings that are not the same."""
    return sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
