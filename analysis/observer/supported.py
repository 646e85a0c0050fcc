"""How sure a judgement may be at most: as sure as what judgements by such evidence in unseen networks support."""

from typing import Final

from analysis.observer.judgement import SenderKind
from analysis.observer.signals import Signals

# Confidence at most, the lower end of a one-sided 95 % interval of judgements right in drawn sets 5 to 7
SUPPORTED_LOSS: Final = 0.92  # 81 of 83 loss-based by their losses
SUPPORTED_GROWTH: Final = 0.91  # 53 of 54 delay-based whose window never sank without a loss
SUPPORTED: Final = 0.88  # BBR's stops, 24 of 24; windows that sank, 116 of 123, give 0.89
UNSUPPORTED: Final = 0.76  # all other evidence; its 12 of 15 support 0.56: too few to tell, so the rule of succession


def most_supported(kind: SenderKind, seen: Signals) -> float | None:
    """Give what unseen networks support for such evidence; None where they had too little of it to tell."""
    if kind is SenderKind.LOSS_BASED and seen.cuts:
        return SUPPORTED_LOSS
    if kind is SenderKind.DELAY_BASED:
        return SUPPORTED if seen.declines else SUPPORTED_GROWTH
    return SUPPORTED if kind is SenderKind.RATE_BASED and seen.bbr_stops and not seen.probes else None
