"""Vector graphics from specifications, for light and dark grounds alike."""

import re
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


def both_grounds(svg: str) -> str:
    """Let a plain figure follow what its reader prefers, light or dark."""
    return re.sub(r"<svg[^>]*>", lambda head: f"{head[0]}<style>{DARK}</style>", svg, count=1)
