"""Implementations that lie elsewhere, and broken ones, which harm nobody else."""

from pathlib import Path

import pytest

from images import index
from images.cache import project_root
from scenarios import homes, implementations
from scenarios.errors import ScenarioError
from testbed.cli import main

DESCRIBED = (
    "title: One\nkind: program\nroles: [sender, receiver]\ntransport: utp\n"
    "licence: MIT\nsource: here\nversion_command: [a]\n"
)


@pytest.fixture(autouse=True)
def _nothing_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(homes.VARIABLE, "")


def put(folder: Path, text: str = DESCRIBED) -> Path:
    folder.mkdir(parents=True)
    (folder / "implementation.yaml").write_text(text)
    return folder


def test_an_implementation_elsewhere_is_known_and_has_an_index(tmp_path: Path) -> None:
    folder = put(tmp_path / "mine", "extends: libutp\n")
    assert homes.add(folder) == homes.add(folder) == "mine"
    known = implementations.known()
    assert known["mine"]["title"] == known["libutp"]["title"]
    assert implementations.folders()["mine"] == folder
    before = index.names()["mine"]
    (folder / "endpoint").write_text("")
    assert index.names()["mine"] != before
    homes_of = {"mine": folder}
    assert index.names(project_root(), homes_of)["libutp"] == index.names(project_root(), {})["libutp"]


def test_an_implementation_elsewhere_outlives_a_later_command_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    homes.add(put(tmp_path / "mine"))
    listed = tmp_path / "cache" / index.names()["mine"]
    listed.parent.mkdir(parents=True)
    listed.write_text("{}")
    index.register(tmp_path / "cache")
    monkeypatch.setenv(homes.VARIABLE, "")
    index.register(tmp_path / "cache")
    assert [file for _, file in index.in_use(tmp_path / "cache")] == [listed]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("libutp", DESCRIBED, "--implementation: found 'libutp', which the testbed has; allowed: a name of its own"),
        ("mine", "title: [", "mine/implementation.yaml:2: (whole file): no YAML"),
        ("mine", "title: half\n", "mine/implementation.yaml:1: kind: missing"),
        ("a b", DESCRIBED, "the folder's name: found 'a b'; allowed: letters, digits"),
        ("a:b", DESCRIBED, "allowed: a path without ':' and line feeds"),
    ],
)
def test_what_is_wrong_with_a_folder_elsewhere(
    name: str, text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = put(tmp_path / name, text)
    assert main(["check", "--implementation", str(folder)]) == 2
    assert message in capsys.readouterr().err


def test_a_folder_elsewhere_must_exist(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gate", "--implementation", str(tmp_path)]) == 2
    assert "allowed: a folder with a file implementation.yaml" in capsys.readouterr().err


def test_a_description_that_somebody_edits_is_read_again(tmp_path: Path) -> None:
    """Once, not for each scenario: unless somebody writes it, it stays as it is."""
    file = put(tmp_path / "mine") / "implementation.yaml"
    first = implementations.known(tmp_path)["mine"]
    assert implementations.known(tmp_path)["mine"] is first
    file.write_text(DESCRIBED.replace("One", "Another"))
    assert implementations.known(tmp_path)["mine"]["title"] == "Another"
    file.write_text("no mapping")
    assert implementations.known(tmp_path) == {}
    file.unlink()
    put(tmp_path / "yours")
    assert [*implementations.known(tmp_path)] == ["yours"]


def test_a_broken_neighbour_harms_only_itself(tmp_path: Path) -> None:
    put(tmp_path / "good")
    put(tmp_path / "half", "title: half\n")
    put(tmp_path / "no-yaml", "title: [")
    put(tmp_path / "upon-half", "extends: no-yaml\n")
    assert implementations.known(tmp_path).keys() == {"good"}
    implementations.refuse_wrong(["good", "never-heard-of"], tmp_path)
    for name in ("half", "no-yaml", "upon-half"):
        with pytest.raises(ScenarioError, match=f"{name}/implementation"):
            implementations.refuse_wrong([name], tmp_path)


def test_a_broken_neighbour_has_an_index_and_stops_no_other(tmp_path: Path) -> None:
    for name, text in (("list", "versions: [1]\n"), ("no-yaml", "title: [")):
        put(tmp_path / name, text)
    outside = {folder.name: folder for folder in tmp_path.iterdir()}
    assert {"libutp", *outside} <= index.names(project_root(), outside).keys()


def test_a_description_is_no_link_to_a_file_that_messages_would_quote(tmp_path: Path) -> None:
    (tmp_path / "secrets.yaml").write_text("a_key: 1\n")
    (tmp_path / "implementations/linked").mkdir(parents=True)
    (tmp_path / "implementations/linked/implementation.yaml").symlink_to("../../secrets.yaml")
    with pytest.raises(ScenarioError, match=r"found a link; allowed: a file$"):
        implementations.refuse_wrong(["linked"], tmp_path / "implementations")
