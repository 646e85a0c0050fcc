"""A figure of numbers: what was measured in each case, a dot a seed and a stroke at the mean."""

from typing import Any, Final

import altair as alt

from analysis.documents import Document
from analysis.figures import style

CAPTION: Final = "One dot a seed; the stroke and the number are the mean over the seeds."


def values_by_seed(figure: Document, width: int) -> dict[str, Any]:
    """Draw the `values` of a figure (each a `label` and its numbers `by_seed`), top to bottom along its `axis`."""
    values = {one.get("label", str): list(one.get("by_seed", dict).values()) for one in figure.children("values")}
    dots = [{"label": label, "value": value} for label, seeds in values.items() for value in seeds]
    means = [{"label": label, "value": sum(seeds) / len(seeds)} for label, seeds in values.items() if seeds]
    y = alt.Y("label:N", sort=list(values), title=None, axis=alt.Axis(grid=True, labelLimit=width // 3))
    x = alt.X(
        "value:Q", title=figure.get("axis", str), scale=alt.Scale(zero=False, padding=25), axis=alt.Axis(tickCount=5)
    )
    mean = alt.Chart(alt.InlineData(values=means)).encode(x, y)
    chart = alt.layer(
        alt.Chart(alt.InlineData(values=dots)).mark_circle(size=60, opacity=0.45, color=style.FLOWS[0]).encode(x, y),
        mean.mark_tick(thickness=2.5, size=26, color=style.QUEUE),
        mean.mark_text(dy=-20, color=style.QUEUE).encode(text=alt.Text("value:Q", format=".1f")),
    )
    chart = chart.properties(width=width, height=60 * len(values)).configure(**style.CONFIG)
    specification: dict[str, Any] = chart.to_dict()
    return specification
