"""The interactive page of a figure: one file that carries everything it needs, so it works from a disk, offline."""

import html
import json
from functools import cache
from typing import Any, Final

import vl_convert

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
</head>
<body>
<h1>{title}</h1>
<div id="figure"></div>
<p>{caption}</p>
<script type="module">
{bundle}
</script>
</body>
</html>
"""


def interactive(specification: dict[str, Any], title: str, caption: str) -> str:
    """Give the HTML of a Vega-Lite specification, to zoom with the wheel and to read values under the pointer."""
    return _PAGE.format(
        title=html.escape(title),
        caption=html.escape(caption),
        bundle=_bundle().replace("SPECIFICATION", _script(specification)),
    )


@cache
def _bundle() -> str:
    code = f"vegaEmbed('#figure', SPECIFICATION, {json.dumps(OPTIONS)});"
    return vl_convert.javascript_bundle(code)


def _script(specification: dict[str, Any]) -> str:
    # inside a script element only "</" could end it early
    return json.dumps(specification, separators=(",", ":")).replace("</", "<\\/")
