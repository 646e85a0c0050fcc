"""A kind of controller, and how sure it is."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class SenderKind(StrEnum):
    """What decides how much a sender has in flight."""

    LOSS_BASED = "loss-based"
    RATE_BASED = "rate-based"
    DELAY_BASED = "delay-based"
    WINDOW_LIMITED = "window-limited"
    APPLICATION_LIMITED = "application-limited"
    NONE = "none"


@dataclass(frozen=True)
class SenderJudgement:
    """A kind, how sure it is (0 to 1), and what speaks for it, a sentence each."""

    kind: SenderKind
    confidence: float
    because: list[str]
    like: str | None = None  # the best known controller that behaves so

    def as_json(self) -> dict[str, Any]:
        """Give what goes into JSON."""
        return {
            "kind": self.kind.value,
            "confidence": round(self.confidence, 3),
            "like": self.like,
            "because": self.because,
        }
