"""The exceptions that become a sentence for the user instead of a traceback."""


class BadInputError(ValueError):
    """Something the user handed in is wrong; the message says file, field, what was found and what is allowed."""


class BadExpressionError(BadInputError):
    """An expression that makes no sense; who knows its file says the place, too."""

    def __init__(self, expression: str, wrong: str) -> None:
        super().__init__(expression, wrong)  # both, so that another process can hand it over
        self.expression, self.wrong = expression, wrong

    def __str__(self) -> str:
        return f"expression {self.expression!r}: {self.wrong}"
