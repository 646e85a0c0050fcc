"""How long work will still take, from what is planned, what is done, and what was expected before it began."""


def left_s(left: float, done: float, took_s: float, pace_s: float, trust: float) -> float:
    """Return the seconds that work of the amount `left` is expected to take, after `done` of it took `took_s`.

    `pace_s` is what a unit was expected to take. It counts as if `trust` units had taken so long, so the first units,
    which may be odd, decide little, and later the measured pace decides.
    """
    return left * (pace_s * trust + took_s) / (trust + done)


def about(seconds: float) -> str:
    """Return a time in words, rounded: `about 40 s`, `about 4 min`, `about 1 h 20 min`."""
    if seconds < 90:
        return f"about {max(5, round(seconds / 5) * 5)} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"about {minutes} min"
    hours, minutes = divmod(round(minutes / 10) * 10, 60)
    return f"about {hours} h {minutes} min" if minutes else f"about {hours} h"
