"""What users ask for: one command line, a folder for each product, and a library for notebooks (`testbed.library`)."""

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from testbed.library import Observation as Observation
    from testbed.library import Results as Results
    from testbed.library import Run as Run
    from testbed.library import Scenario as Scenario

__all__: Final = ["Observation", "Results", "Run", "Scenario"]


def __getattr__(name: str) -> Any:
    """Load the library when it is first asked for: commands do without, and it would slow their start."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from testbed import library

    return getattr(library, name)
