"""The grammar of docs/reference/figures.md: colours that everyone can tell apart, digits, names, bytes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path

import numpy as np
import pytest
import yaml
from numpy.typing import NDArray

from analysis.documents import Fields
from analysis.figures import alternative_text, plot, roles, style, svg
from analysis.figures.bands import band
from analysis.run_json import Flow
from analysis.series import Series
from analysis.units import three_digits
from scenarios import implementations

Floats = NDArray[np.float64]
ROOT = Path(__file__).parents[2]

# Linear sRGB as people see it who lack one kind of cones (severity 1): Machado, Oliveira and Fernandes, "A
# Physiologically-based Model for Simulation of Color Vision Deficiency", IEEE TVCG 15 (2009), table of the article.
VISION = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
# Oklab, where equal distances look alike: B. Ottosson, "A perceptual color space for image processing" (2020)
TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
NEAREST = 0.09  # distance in Oklab of colours that meet; the best palette that a search found has 0.099

T, L = roles.COLOURS["TCP"], roles.COLOURS["LEDBAT"]
OTHERS = [roles.COLOURS[name][0] for name in ("LEDBAT++", "TCP-LP", "Vegas", "TCP Nice")]
CALL = roles.COLOURS["constant rate"][0]
# colours that stand in one figure of the studies
QUIC = roles.COLOURS["QUIC"][0]
MEETING = [
    [*T, *L[:2], roles.PAPER],
    [*L, roles.PAPER],
    [T[0], *L[:3]],
    [T[0], L[0], *OTHERS],
    [T[0], *L[:2], CALL, QUIC],
]


def linear(colour: str) -> Floats:
    part = np.array([int(colour[index : index + 2], 16) for index in (1, 3, 5)]) / 255
    return np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)


def contrast(colour: str, other: str) -> float:
    """Contrast ratio of WCAG 2.2."""
    dark, light = sorted(float(linear(colour) @ [0.2126, 0.7152, 0.0722]) for colour in (colour, other))
    return (light + 0.05) / (dark + 0.05)


def distance(colour: str, other: str, vision: str) -> float:
    seen = [TO_LAB @ np.cbrt(TO_LMS @ np.clip(VISION[vision] @ linear(colour), 0, 1)) for colour in (colour, other)]
    return float(np.linalg.norm(seen[0] - seen[1]))


def test_the_measures_are_those_of_their_sources() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert distance("#000000", "#ffffff", "normal") == pytest.approx(1, abs=1e-3)
    # red and green, of the same lightness, are what deuteranopes confuse
    assert distance("#a06060", "#608060", "deuteranopia") < 0.4 * distance("#a06060", "#608060", "normal")


@pytest.mark.parametrize("colour", [*itertools.chain(*roles.COLOURS.values()), roles.PAPER])
def test_every_colour_stands_out_on_both_grounds(colour: str) -> None:
    assert contrast(colour, style.GROUND) >= 3
    assert contrast(colour, style.DARK[style.GROUND]) >= 3


def test_texts_can_be_read_on_both_grounds() -> None:
    for ink in (style.INK, style.SOFT, *style.VERDICTS.values()):
        assert contrast(ink, style.GROUND) >= 4.5
        assert contrast(style.DARK[ink], style.DARK[style.GROUND]) >= 4.5


@pytest.mark.parametrize("vision", VISION)
def test_colours_that_meet_in_a_figure_differ_for_everyone(vision: str) -> None:
    for colours in MEETING:
        for first, second in itertools.combinations(colours, 2):
            assert distance(first, second, vision) >= NEAREST, (first, second)


def declared_roles() -> Iterator[tuple[str, list[str]]]:
    """The colours of each figure of the studies that declares them."""
    for file in sorted(ROOT.glob("workflows/studies/*/*.claims.yaml")):
        wanted = yaml.safe_load(file.read_text()).get("figure", {}).get("roles")
        if wanted:
            fields = Fields(file, wanted, "roles")
            yield file.name, [roles.declared(fields, label) for label in wanted]


@pytest.mark.parametrize("vision", VISION)
def test_colours_that_a_study_declares_for_a_figure_differ_for_everyone(vision: str) -> None:
    figures = list(declared_roles())
    assert figures
    for name, colours in figures:
        for first, second in itertools.combinations(sorted({*colours}), 2):
            assert distance(first, second, vision) >= NEAREST, (name, first, second)


def test_no_colour_means_two_things() -> None:
    inks = [*style.DARK, *style.DARK.values()]
    flows = [colour for colours in roles.COLOURS.values() for colour in colours]
    assert len({*flows}) == len(flows)
    assert not {*inks} & {*flows, roles.PAPER}
    assert len(inks) == len({*inks})


def test_the_documentation_has_this_palette() -> None:
    text = (ROOT / "docs/reference/figures.md").read_text()
    table = text.partition("<!-- palette")[2].partition("<!-- end of palette")[0]
    rows = [[part.strip(" `") for part in line.strip("|").split("|")] for line in table.splitlines() if "`" in line]
    assert {name: tuple(filter(None, colours)) for name, *colours in rows} == roles.COLOURS
    assert f"`{roles.PAPER}`" in text
    assert f"(`{style.GROUND}` and `{style.DARK[style.GROUND]}`)" in text


def flow(name: str, implementation: str, start_s: float = 0.0, backward: bool = False) -> Flow:
    """A flow as run.json has it of an implementation that this checkout knows."""
    about = implementations.known()[implementation]
    settings = Flow(name, implementation, start_s, None, {}, IPv4Address("10.1.1.1"), 5001, backward)
    return replace(
        settings, family=about["family"], transport=about["transport"], surrogate_of=about.get("surrogate_of")
    )


def test_a_protocol_has_its_colour_whatever_the_flow_is_called_and_whoever_is_beside_it() -> None:
    alone = roles.of_flows([flow("client", "libutp-beta1")])["client"]
    beside = roles.of_flows([flow("a", "tcp-cubic"), flow("b", "tcp-ledbat-draft00", 10)])
    assert alone == roles.Role("beta1 (surrogate)", L[0])  # it stands for a client that is gone
    assert beside["b"] == roles.Role("LEDBAT", L[0])
    assert beside["a"] == roles.Role("TCP", T[0])


def test_late_comers_have_the_colours_that_follow() -> None:
    colours = roles.of_flows([flow("late", "tcp-ledbat-ld", 15), flow("early", "tcp-ledbat-ld")])
    assert colours == {"early": roles.Role("LEDBAT, early", L[0]), "late": roles.Role("LEDBAT, late", L[1])}
    colours = roles.of_flows([flow("f1", "tcp-ledbat-ld"), flow("f2", "tcp-ledbat-ld", 15)])
    assert [role.label for role in colours.values()] == ["LEDBAT 1", "LEDBAT 2"]
    ways = roles.of_flows([flow("to", "tcp-reno"), flow("back", "tcp-reno", 9, backward=True)])
    assert ways == {"to": roles.Role("TCP", T[0]), "back": roles.Role("TCP, reverse", T[1])}


def test_flows_that_start_together_keep_their_colours_whatever_their_seed_draws() -> None:
    for first_s, second_s in ((0.2, 0.4), (0.4, 0.2)):
        flows = [flow("f1", "tcp-ledbat-ld", first_s), flow("f2", "tcp-ledbat-ld", second_s)]
        colours = roles.of_flows([*flows, flow("f3", "tcp-ledbat-ld", 15)])
        assert [colours[name].colour for name in ("f1", "f2", "f3")] == list(L[:3])


@pytest.mark.parametrize(
    ("implementation", "protocol"),
    [
        ("tcp-ledbat", "LEDBAT"),
        ("tcp-fledbat", "LEDBAT"),
        ("tcp-ledbatpp", "LEDBAT++"),
        ("transmission-4", "LEDBAT"),
        ("libtorrent-tcp", "TCP"),
        ("web", "TCP"),
        ("video", "TCP"),
        ("dns", "DNS"),
        ("quic-go", "QUIC"),
        ("tcp-windows-11", "TCP"),
        ("tcp-lp", "TCP-LP"),
        ("tcp-nice", "TCP Nice"),
        ("tcp-4cp", "TCP"),
        ("tcp-linux", "TCP"),
        ("udp-cbr", "constant rate"),
    ],
)
def test_the_protocol_of_an_implementation(implementation: str, protocol: str) -> None:
    assert roles.protocol(flow("client", implementation)) == protocol


def test_an_implementation_of_no_known_family_is_called_by_its_own_name() -> None:
    mine = replace(flow("client", "tcp-reno"), implementation="tcp-mine", family="other")
    assert roles.of_flows([mine]) == {"client": roles.Role("tcp-mine", T[0])}


def test_who_brings_another_control_is_not_called_ledbat() -> None:
    titles = {name: about["title"] for name, about in implementations.known().items()}
    without = {name for name, title in titles.items() if title.startswith("uTP without LEDBAT")}
    assert without == {name for name in titles if roles.name(flow("client", name)) == "uTP"}
    colours = roles.of_flows([flow("client", "libutp"), flow("rival", "librqbit-utp", 1)])
    assert colours == {"client": roles.Role("LEDBAT (uTP)", L[0]), "rival": roles.Role("uTP", L[1])}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (12.345, "12.3"),
        (0.07896, "0.079"),
        (17520, "17,500"),
        (99.96, "100"),
        (-1.5, f"{style.MINUS}1.5"),
        (3e-5, "3e-5"),
        (6e-4, "0.0006"),
    ],
)
def test_numbers_have_three_digits_at_most(value: float, text: str) -> None:
    assert style.number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (4170, "4,170"), (1e6, "1,000,000"), (1.52e-5, "0.0000152"), (-2e-5, "-0.00002"), (0.00275, "0.00275")],
)
def test_three_digits_need_no_power_of_ten(value: float, text: str) -> None:
    assert three_digits(value) == text


@pytest.mark.parametrize(
    ("values", "unit", "axis"),
    [
        ([2, 10], "ms", (0, 10)),
        ([8, 10], "ms", (8, 10)),
        ([0], "ms", (0, 1)),
        ([-2, 10], "ms", (-2, 10)),
        ([40, 40], "ms", (39, 41)),
        ([99.9, 100], "%", (95, 100)),
        ([101, 101.2], "%", (98.57, 103.63)),
    ],
)
def test_an_axis_is_never_so_short_that_digits_without_meaning_show(
    values: list[float], unit: str, axis: tuple[float, float]
) -> None:
    assert style.ends(values, unit) == pytest.approx(axis)


def test_the_unit_of_an_axis() -> None:
    assert style.unit_of("utilization, [0, 20] s [%]") == "%"
    assert style.unit_of("throughput over capacity") == ""


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("the queue from 20 to 30 s [ms]", ["the queue from 20 to", "30 s [ms]"]),
        ("share of the whole flow [%]", ["share of the whole", "flow [%]"]),
        ("window of at least 1 packet", ["window of at least", "1 packet"]),
    ],
)
def test_broken_lines_part_no_number_from_its_unit(text: str, lines: list[str]) -> None:
    assert style.wrapped(text, 24 * style.LETTER) == lines


def test_names_stand_apart_and_inside() -> None:
    assert plot.spread_out([10, 12, 90], 15, 100) == [3.5, 18.5, 90]
    assert plot.spread_out([2, 3, 50], 15, 100) == [0, 15, 50]
    assert plot.spread_out([95, 96, 97], 15, 100) == [70, 85, 100]


def shown() -> plot.Plot:
    times = np.arange(0, 10, 0.01)
    lines = [
        plot.PlotLine(name, colour, band(Series(times, 20 + height * np.sin(times), 10), (), 0, 10, 100))
        for name, colour, height in (("TCP", T[0], 15.0), ("LEDBAT", L[0], 5.0))
    ]
    marks = [plot.Mark("first loss", 4, 4, 3.5, 4.5)]
    return plot.Plot("queue [packets]", (0, 10), lines, 40, [("target", 20.8), ("buffer", 100)], marks)


def drawn(what: plot.Plot) -> str:
    body = plot.draw(what, 400, 200, data="d")
    return svg.plain(style.specification({**body, "datasets": {"d": plot.rows(what.lines)}}))


def test_the_same_figure_has_the_same_bytes() -> None:
    assert drawn(shown()) == drawn(shown())


def test_a_plot_says_what_its_lines_are() -> None:
    text = drawn(shown())
    # a level far above is named, instead of flattening everything else
    for words in (">TCP<", ">LEDBAT<", ">target 20.8<", ">buffer 100 ↑<", ">first loss<", ">Queue [packets]<"):
        assert words in text
    assert "legend" not in text
    # levels are drawn after what they cross
    assert text.rindex(f'stroke="{L[0]}"') > text.index(f'stroke="{style.INK}"') > text.index(f'fill="{L[0]}"')


def test_the_words_of_an_instant_stand_at_no_other_line() -> None:
    marks = [plot.Mark("first flow done", 134, 158), plot.Mark("last flow done", 171, 171)]
    figure = replace(shown(), interval=(0, 171), marks=marks)
    # those of the last one would begin at the line of 158 s, so they stand above it
    assert plot.place_words(figure, 1076) == [plot.Words(134, False, 0), plot.Words(171, True, 1)]
    assert ">first flow done (134 to 158)<" in drawn(figure)
    close = [plot.Mark(text, at, at) for text, at in (("one instant", 2), ("another one", 2.2), ("the last", 2.4))]
    rows = [words.row for words in plot.place_words(replace(shown(), marks=close), 400)]
    assert len({*rows}) > 1
    many = [*close, plot.Mark("more", 2.6, 2.6), plot.Mark("most", 2.8, 2.8)]
    assert [words.row for words in plot.place_words(replace(shown(), marks=many), 400)] == [4, 3, 2, 1, 0]
    apart = [plot.Mark("one", 2, 2), plot.Mark("two", 6, 6)]
    assert plot.place_words(replace(shown(), marks=apart), 400) == [plot.Words(2, False, 0), plot.Words(6, False, 0)]


def test_lines_of_one_colour_are_drawn_through_dashed_and_dotted() -> None:
    line = shown().lines[0]
    lines = [replace(line, label=f"LEDBAT {stroke}", stroke=stroke) for stroke in range(3)]
    text = drawn(replace(shown(), lines=lines, levels=[], marks=[]))
    # each line, and the piece of it beside its name
    for dashes in ("1,0", "4,2", "1,2"):
        assert text.count(f'stroke-dasharray="{dashes}"') == 2


def test_tooltips_have_words_and_units() -> None:
    row = plot.hover(shown())[0]
    assert row["at"] == "0 s"
    assert row["n0"] == "23.6 packets (from 20 to 25.7)"
    late = replace(shown().lines[0], band=band(Series(np.array([5.0]), np.array([1.0]), 10), (), 0, 10, 100))
    assert plot.hover(replace(shown(), lines=[late]))[0]["n0"] == "not yet"


def test_a_dark_figure_differs_only_in_its_style_and_says_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    light = drawn(shown())
    monkeypatch.setattr(svg, "plain", lambda _: light)
    (tmp_path / "both.svg").write_text(both := svg.draw({}, 'from "1" to 2'))
    assert re.sub(r' role="img" aria-label="[^"]*"><style>.*?</style>', ">", both, count=1) == light
    assert f"<style>{svg.DARK}</style>" in both
    assert alternative_text.of_file(tmp_path / "both.svg") == 'from "1" to 2'
    assert svg.DARK.startswith("@media screen and (prefers-color-scheme:dark)")
