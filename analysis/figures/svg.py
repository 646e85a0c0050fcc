"""Vector graphics from specifications, for light and dark grounds alike."""

import re
from html import escape
from typing import Final

import vl_convert

from analysis.figures import style
from analysis.figures.style import Specification


def rules(within: str = "") -> str:
    """Give the style rules that make a figure dark, for what is inside of an element."""
    pairs = [(place, *colours) for colours in style.DARK.items() for place in ("fill", "stroke")]
    return "".join(f'{within}[{place}="{light}"]{{{place}:{dark}}}' for place, light, dark in pairs)


# What cannot read this, such as a printer or a text processor, shows the light figure.
DARK: Final = f"@media screen and (prefers-color-scheme:dark){{{rules()}}}"


def plain(specification: Specification) -> str:
    """Draw a specification on a light ground."""
    return str(vl_convert.vegalite_to_svg(specification))


def draw(specification: Specification, alternative: str) -> str:
    """Draw a specification so that it follows what its reader prefers, light or dark, and carries its own text."""
    said = f' role="img" aria-label="{escape(alternative)}"><style>{DARK}</style>'
    return re.sub(r"(<svg[^>]*)>", lambda head: head[1] + said, plain(specification), count=1)
