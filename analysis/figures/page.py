"""The interactive page of a figure: it and the viewer beside it need no network."""

import hashlib
import html
import json
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import vl_convert

from analysis.documents import Fields
from analysis.figures import style, svg
from analysis.figures.style import Specification
from common import sums

VIEWER: Final = "viewer.js"  # Vega, Vega-Lite and Vega-Embed in one file, one folder above the pages

# Vega's menu can save the picture; its links to an editor on the web are left out. Vector graphics become dark by the
# same rules as the still figures.
OPTIONS: Final = {"actions": {"export": True, "source": False, "compiled": False, "editor": False}, "renderer": "svg"}

_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>body {{ font: 15px/1.5 Helvetica, Arial, system-ui; margin: 1rem auto; max-width: {width}px;
padding: 0 1rem; color: {ink}; background: {ground} }}
h1 {{ font-size: 1.3rem; line-height: 1.3 }}
a {{ color: #0b5cad }}
#figure.has-actions {{ display: block; padding-right: 0 }}
@media screen {{
[data-theme=dark] {{ color-scheme: dark }}
[data-theme=dark] body {{ color: {dark_ink}; background: {dark_ground} }}
[data-theme=dark] a {{ color: #7db8f5 }}
[data-theme=dark] #figure svg {{ background-color: {dark_ground} !important }}
{dark} }}
@media print {{ .screen, summary {{ display: none }} #figure svg {{ max-width: 100%; height: auto }} }}</style>
<script src="../{viewer}"></script>
</head>
<body>
<p class="screen"><a href="../../{id}.html">Back to what was claimed and measured</a></p>
<h1>{title}</h1>
<div id="figure"></div>
<p>{caption}</p>
<p class="screen">{point} <span id="zoom">{zoom}</span></p>
<script>
const data = {data}, layouts = {layouts}, widths = Object.keys(layouts).map(Number);
const dark = matchMedia("(prefers-color-scheme: dark)");
// the widest that there is room for, beside the padding
const fitting = () => widths.filter((width) => document.documentElement.clientWidth >= width + 32).at(-1) ?? widths[0];
let shown;
function show() {{
  shown = fitting();
  document.querySelector("#zoom").hidden = shown !== widths.at(-1);
  // as the pages of the report keep it; a page from a disk may be refused its storage
  let theme = dark.matches ? "dark" : "light";
  try {{ theme = localStorage.getItem("theme") ?? theme; }} catch {{ /* as the reader's system has it */ }}
  document.documentElement.dataset.theme = theme;
  const figure = {{...layouts[shown], datasets: data}};
  vegaEmbed("#figure", figure, {{...{options}, tooltip: {{theme}}}})
    .then(() => document.querySelector("#figure summary").setAttribute("aria-label", "Save the figure"));
}}
dark.onchange = show;
onresize = () => {{ if (fitting() !== shown) show(); }};
show();
</script>
</body>
</html>
"""
_ZOOM: Final = "Turn the wheel over a plot to zoom in time, drag to move, and click twice to see all of it again."
_POINT: Final = "Point at a figure, or touch it, to read the numbers."


def interactive(layouts: Mapping[int, Specification], experiment: Fields, caption: str, alternative: str) -> str:
    """Give the HTML of a figure, laid out for windows of several widths; all have the words and data of the widest."""
    widest = layouts[max(layouts)]
    data: dict[str, Any] = dict(widest.get("datasets", {}))
    shown = {
        width: _sharing({name: part for name, part in layout.items() if name != "datasets"}, data)
        | {"description": alternative}
        for width, layout in layouts.items()
    }
    return _PAGE.format(
        id=html.escape(experiment.get("id", str)),
        title=html.escape(experiment.get("title", str)),
        caption=html.escape(caption),
        point=_POINT,
        zoom=_ZOOM if '"bind": "scales"' in json.dumps(widest) else "",
        viewer=VIEWER,
        width=style.WIDE + 40,
        ink=style.INK,
        ground=style.GROUND,
        dark_ink=style.DARK[style.INK],
        dark_ground=style.DARK[style.GROUND],
        dark=svg.rules("[data-theme=dark] svg "),
        data=_script(data),
        layouts=_script(shown),
        options=json.dumps(OPTIONS),
    )


def _sharing(part: Any, data: dict[str, Any]) -> Any:
    """Move the rows of a specification's plots to what all layouts share, each under a name by its content."""
    if isinstance(part, list):
        return [_sharing(each, data) for each in part]
    if not isinstance(part, dict):
        return part
    rows = part.get("data", {}).get("values") if isinstance(part.get("data"), dict) else None
    if rows is None:
        return {name: _sharing(each, data) for name, each in part.items()}
    name = hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:12]
    data[name] = rows
    return {key: {"name": name} if key == "data" else _sharing(each, data) for key, each in part.items()}


def write_viewer(folder: Path) -> None:
    """Write what all interactive pages below a folder share, once: making it takes seconds."""
    path = folder / VIEWER
    head = f"// for vl-convert {version('vl-convert-python')}\n"
    if not sums.damaged(folder, [VIEWER]) and path.read_text(encoding="utf-8").startswith(head):
        return
    with sums.replacing(folder) as draft:
        # a script of its own instead of a module: browsers load no modules from a disk
        (draft / VIEWER).write_text(f"{head}(() => {{\n{_bundle()}\n}})();\n", encoding="utf-8")


@cache
def _bundle() -> str:
    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))


def _script(data: Any) -> str:
    # inside a script element "</" and "<!--" are not only text
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
