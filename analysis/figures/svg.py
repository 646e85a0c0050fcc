"""Vector graphics from specifications, for light and dark grounds alike."""

import re
import resource
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Final

import vl_convert

from analysis.errors import BadInputError
from analysis.figures import style
from analysis.figures.style import Specification
from analysis.files import write_text

V8_BYTES: Final = 68 << 30
"""Addresses, not memory: V8 starts with 67 GiB and not with 58."""


def rules(within: str = "") -> str:
    """Give the style rules that make a figure dark, for what is inside of an element."""
    changed: list[tuple[str, object, object]] = [
        *((place, *colours) for colours in style.DARK.items() for place in ("fill", "stroke")),
        *(("opacity", *opacities) for opacities in style.DARK_OPACITY.items()),
    ]
    return "".join(f'{within}[{place}="{light}"]{{{place}:{dark}}}' for place, light, dark in changed)


# What cannot read this, such as a printer or a text processor, shows the light figure.
DARK: Final = f"@media screen and (prefers-color-scheme:dark){{{rules()}}}"


def plain(specification: Specification) -> str:
    """Draw a specification on a light ground.

    Raises:
        BadInputError: this shell's limit leaves fewer addresses than V8 reserves; without them it ends the process.
    """
    limit_bytes, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit_bytes != resource.RLIM_INFINITY and limit_bytes < V8_BYTES:
        found = f"found {limit_bytes >> 30} GiB"
        raise BadInputError(f"ulimit -v: {found}; allowed: none, or {V8_BYTES >> 30} GiB of addresses for pictures")
    return str(vl_convert.vegalite_to_svg(specification))


def draw(specification: Specification, alternative: str) -> str:
    """Draw a specification so that it follows what its reader prefers, light or dark, and carries its own text."""
    attributes = f' role="img" aria-label="{escape(alternative)}"><style>{DARK}</style>'
    return re.sub(r"(<svg[^>]*)>", lambda head: head[1] + attributes, plain(specification), count=1)


def write(place: Path, specify: Callable[[int], Specification], alternative: str) -> None:
    """Draw a figure for wide pages and for phones: PLACE.svg and PLACE-narrow.svg."""
    for suffix, width in style.WIDTHS.items():
        write_text(place.with_name(f"{place.name}{suffix}.svg"), draw(specify(width), alternative))
