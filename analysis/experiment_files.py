"""What the folder of a measured experiment has, and words in verdicts.json that more than one module reads."""

from typing import Final

METRICS: Final = "metrics.csv"
VERDICTS: Final = "verdicts.json"
FORMAT: Final = 5
"""Of verdicts.json."""
PICTURE: Final = "figure"
"""Without the end of each file's name, such as -narrow.svg (`analysis.figures.style.WIDTHS`)."""
CAPTION: Final = "figure.txt"

# why a claim cannot be tested, beside what its entry may say; a run at another size, or of the tests, ends them
NOT_RUN: Final = "not run at this size"
NOT_TESTED: Final = "tests not run"

KUNIT_CASE: Final = "KUnit case"
"""How the reference set says that a unit test of the module decides a claim."""
