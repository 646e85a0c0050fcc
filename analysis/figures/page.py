"""The interactive page of a figure: it and the viewer beside it need no network."""

import html
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import vl_convert

from analysis.files import write_text

VIEWER: Final = "viewer.js"  # Vega, Vega-Lite and Vega-Embed in one file, one folder above the pages

# Vega's menu can save the picture; its links to an editor on the web are left out.
OPTIONS: Final = {"actions": {"export": True, "source": False, "compiled": False, "editor": False}}

_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>body {{ font: 15px/1.5 Helvetica, Arial, sans-serif; margin: 1rem auto; max-width: 62rem; padding: 0 1rem }}
#figure {{ overflow-x: auto }}</style>
<script src="../{viewer}"></script>
</head>
<body>
<h1>{title}</h1>
<div id="figure"></div>
<p>{caption}</p>
<script>vegaEmbed("#figure", {specification}, {options})</script>
</body>
</html>
"""


def interactive(specification: dict[str, Any], title: str, caption: str) -> str:
    """Give the HTML of a Vega-Lite specification, to zoom with the wheel and to read values under the pointer."""
    return _PAGE.format(
        title=html.escape(title),
        caption=html.escape(caption),
        viewer=VIEWER,
        specification=_script(specification),
        options=json.dumps(OPTIONS),
    )


def write_viewer(folder: Path) -> None:
    """Write what all interactive pages below a folder share, once: making it takes seconds."""
    path = folder / VIEWER
    head = f"// for vl-convert {version('vl-convert-python')}\n"
    if path.exists() and path.read_text(encoding="utf-8").startswith(head):
        return
    # a script of its own instead of a module: browsers load no modules from a disk
    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    write_text(path, f"{head}(() => {{\n{bundle}\n}})();\n")


def _script(specification: dict[str, Any]) -> str:
    # inside a script element "</" and "<!--" are not only text
    return json.dumps(specification, separators=(",", ":")).replace("<", "\\u003c")
