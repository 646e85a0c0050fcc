"""Errors whose text is meant for the person at the keyboard: what was found, what is allowed, how to go on."""


class EngineError(Exception):
    """A run cannot start or failed; the text is one sentence that needs no traceback."""
