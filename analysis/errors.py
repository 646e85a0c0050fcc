"""The one exception that becomes a sentence for the user instead of a traceback."""


class BadInputError(ValueError):
    """Something the user handed in is wrong; the message says file, field, what was found and what is allowed."""
