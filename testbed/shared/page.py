"""The pages of products: what all of them say at their top, and at their end."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from analysis.report.rendering import TEMPLATES, pages, render, write_shared
from testbed.shared.made import Made

PRODUCTS: Final = Path(__file__).parent  # has product.html


def write_page(
    page: Path, template: Path, values: Mapping[str, Any], made: Made | None, again: str, files: Sequence[str] = ()
) -> Path:
    """Write a page by a template that extends product.html, and beside it what all pages share; return the page.

    `again` is the command that makes the page again, and `files` are those beside it that say the same. A page without
    runs of its own has no `made`.
    """
    write_shared(page.parent)
    about = {"made": made, "again": again, "files": files}
    render(pages(template.parent, PRODUCTS, TEMPLATES), template.name, page, {**values, **about})
    return page
