"""Renders pages from templates: those of the report, and those of products that look like it."""

import shutil
from functools import partial
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from analysis.figures import alternative_text
from analysis.files import whole, write_text
from analysis.report import causes, formats, overview, prose
from analysis.report.cards import page_of
from analysis.report.results import STATES, state_of

TEMPLATES: Final = Path(__file__).with_name("templates")
SHARED: Final = ("report.css", "report.js")  # by all pages of a folder


def write_shared(out: Path) -> None:
    """Write the style sheet and the script that all pages of a folder share."""
    for name in SHARED:
        with whole(out / name) as temporary:
            shutil.copyfile(TEMPLATES / name, temporary)


def pages(*templates: Path) -> Environment:
    """Give what renders pages from folders of templates: whatever is in them, text is never taken for HTML."""
    environment = Environment(
        loader=FileSystemLoader(templates),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= formats.FILTERS | {"ordered": overview.ordered, "page": page_of, "marked": prose.marked}
    environment.globals |= {
        "states": STATES,
        "state_words": overview.STATE_WORDS,
        "state_of": state_of,
        "cause_words": causes.WORDS,
    }
    return environment


def write_page(page: Path, template: Path, values: dict[str, Any]) -> Path:
    """Write a page by a template that lies anywhere, and beside it what all pages share; return the page."""
    write_shared(page.parent)
    render(pages(template.parent, TEMPLATES), template.name, page, values)
    return page


def render(environment: Environment, template: str, path: Path, values: dict[str, Any]) -> None:
    """Write a page; what it says of a picture beside it comes from that picture."""
    told_of = partial(_told_of, path.parent)
    write_text(path, environment.get_template(template).render(values | {"told_of": told_of}))


def _told_of(folder: Path, address: str) -> str:
    return alternative_text.of_file(folder / address)
