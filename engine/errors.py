"""Errors whose text is meant for the person at the keyboard: what was found, what is allowed, how to go on."""


class EngineError(Exception):
    """A run cannot start or failed; the text is one sentence that needs no traceback."""


def printable(words: str) -> str:
    """Replace what would move a terminal's cursor: words may come from a guest, or from another user's command."""
    return "".join(
        letter if letter.isprintable() or letter == "\n" else "\N{REPLACEMENT CHARACTER}" for letter in words
    )


def in_a_line(words: str) -> str:
    """The same, without line breaks: whoever reads line by line must not find one that a stranger wrote."""
    return printable(words.replace("\n", "\N{REPLACEMENT CHARACTER}"))
