"""Names from strangers' files reach apt, pip, npm, Docker and mmdebstrap: none is taken for an option or a command."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from engine.errors import EngineError
from exec import hand_in
from images import debian, lab, locked
from images.cache import Store
from images.errors import ImageError
from scenarios import implementations
from scenarios.errors import ScenarioError
from tests.images.mirror import SUITE, Mirror

HOOKS = ("-oAptCli::Hooks::Install::=id > {}", "--option=APT::Update::Pre-Invoke::=id > {}")
PACKAGES = (
    "-o=x",
    "--allow-unauthenticated",
    "one,two",
    "./one.deb",
    "/one.deb",
    "one/sid",
    "one-",
    "?all",
    "one\n",
    "",
)
LOCKED = {"name": "one", "version": "1", "sha256": "0" * 64, "size": 1}
DESCRIBED = {"kind": "program", "roles": ["sender"], "transport": "utp", "licence": "MIT", "source": "here"}
DESCRIBED |= {"title": "a trial", "version_command": ["true"]}
FETCHED = {"registry": "npm", "package": "utp", "version": "1.0", "sha256": "0" * 64}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A new store, and a mirror that has the package `one`, trusted without a signature."""
    made = Mirror(tmp_path / "mirror")
    made.offer({"one": "1"})
    monkeypatch.setattr(debian, "source_lines", lambda suite: f"deb [trusted=yes] copy:{made.root} {suite} main\n")
    monkeypatch.setattr(debian.Archive, "_updated", set())
    return Store(tmp_path / "store", lambda _: None)


@pytest.mark.parametrize("hook", HOOKS)
def test_apt_takes_no_package_for_a_hook(hook: str, store: Store, tmp_path: Path) -> None:
    """It ran the first as root, whatever is only simulated."""
    ran = tmp_path / "ran"
    with pytest.raises(ImageError, match="allowed: the name of a Debian package"):
        locked.resolve(store, SUITE, ["one", hook.format(ran)], complete=False)
    assert not ran.exists()


def test_apt_takes_no_name_for_a_pattern(store: Store) -> None:
    """`o.e` used to install what it matches."""
    with pytest.raises(ImageError, match=r"cannot give what is asked for: E: Unable to locate package o\.e"):
        locked.resolve(store, SUITE, ["o.e"], complete=False)


@pytest.mark.parametrize("pip", [False, True])
@pytest.mark.parametrize("name", ["--index-url=file:/x", "-r/etc/passwd", "one @ file:/x", "./one", "one==1 --hash=x"])
def test_a_hand_in_names_packages_and_nothing_else(pip: bool, name: str, tmp_path: Path) -> None:
    field, kind = ("pip", "a Python package with its version") if pip else ("deb", "the name of a Debian package")
    order = {
        "words": ["python3", "x.py"],
        "beside": ".",
        "seed": 1,
        "keep_all": False,
        "together": False,
        "exit_status": 0,
        "student": None,
        "link_rate_bps": 0,
        "offload": True,
        "controller": None,
        "python2": False,
    }
    order |= {"limit_s": 1, "memory_mib": 512, "provenance": {}, "digests": {}, "deb": [], "pip": []} | {field: [name]}
    with zipfile.ZipFile(tmp_path / "it.zip", "w") as archive:
        archive.writestr("order.json", json.dumps(order))
    with pytest.raises(EngineError) as caught:
        list(hand_in.verify(tmp_path / "it.zip"))
    assert f"order.json: {field}" in str(caught.value)
    assert f"found {name!r}; allowed: {kind}" in str(caught.value)


@pytest.mark.parametrize("name", PACKAGES)
def test_a_command_line_names_debian_packages_and_nothing_else(name: str, store: Store) -> None:
    with pytest.raises(ImageError, match="allowed: the name of a Debian package"):
        lab.with_debian(store, print, [name])


@pytest.mark.parametrize(
    "fields",
    [
        *({"root": {"suite": "trixie", "packages": [name]}} for name in PACKAGES),
        *({"build_packages": [name]} for name in PACKAGES),
        *({"root": {"suite": suite}} for suite in ("--customize-hook=id", "../..", "trixie\n", "a main\ndeb x y")),
        *({"root": {"tag": tag}} for tag in ("--help", "-f", "a b")),
        *({"root": {"archive": file}} for file in ("/etc/passwd", "../image.tar", "a/../../b", "--x")),
        *({"fetch": [FETCHED | {"package": name}]} for name in ("--x", "git+ssh://h/x", "../x", "x\n--pre", "@/x")),
        *({"fetch": [FETCHED | {"version": name}]} for name in ("1 --pre", "file:../x", "-1", "1\n-r x")),
        {"fetch": [{"registry": "pypi", "package": "a", "version": "1", "sha256": "0" * 64, "python": "3.9\n"}]},
        {"versions": {"1\n": {}}},
        {"module": "../../x"},
        {"tcp": {"sender": {"net/../../etc/x": "1"}}},
    ],
)
def test_an_implementation_names_what_it_needs_and_nothing_else(fields: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    file = tmp_path / "mine" / "implementation.yaml"
    file.write_text(yaml.safe_dump(DESCRIBED))
    assert implementations.known(tmp_path)
    file.write_text(yaml.safe_dump(DESCRIBED | fields))
    with pytest.raises(ScenarioError, match="allowed: "):
        implementations.refuse_wrong(folder=tmp_path)


@pytest.mark.parametrize("name", ["--prune", "a b", "$(id)", "a@1", ".x"])
def test_a_folder_of_an_implementation_has_a_plain_name(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "implementation.yaml").write_text(yaml.safe_dump(DESCRIBED))
    with pytest.raises(ScenarioError, match=r"the folder's name: found .*; allowed: letters, digits"):
        implementations.refuse_wrong(folder=tmp_path)


@pytest.mark.parametrize(
    ("changed", "allowed"),
    [
        *(({"suite": suite}, "the name of a Debian release") for suite in ("--mode=root", "../../x")),
        ({"wanted": ["one", "--customize-hook=id"]}, "the name of a Debian package"),
        ({"packages": [LOCKED | {"name": "../../x"}]}, "the name of a Debian package"),
        ({"packages": [LOCKED | {"version": "1 -o x"}]}, "the version of a Debian package"),
        ({"packages": [LOCKED | {"sha256": "../../x"}]}, "a SHA-256 in hexadecimal"),
        ({"packages": [LOCKED | {"size": -1}]}, "bytes"),
    ],
)
def test_a_lock_names_packages_and_nothing_else(changed: dict[str, Any], allowed: str, tmp_path: Path) -> None:
    file = tmp_path / "lock"
    file.write_text(json.dumps({"suite": SUITE, "wanted": ["one"], "written": "", "packages": [LOCKED]} | changed))
    with pytest.raises(ImageError, match=rf"is not a lock \(found .*; allowed: {allowed}"):
        locked.read_any(file, "trial")
