"""Images packed here and unpacked without a network, in an empty cache, give a run with the same bytes."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from engine import images
from engine.run import execute
from scenarios.resolve import expand, resolve
from tests.trial import trial

SCENARIO = """\
experiment: short
title: LEDBAT beside TCP for a moment
topology: {name: dumbbell, pairs: 2}
bottleneck: {rate: 10mbit, buffer: 40p}
delay: {forward: 25ms, backward: 25ms}
flows:
  - {name: ledbat, implementation: tcp-ledbat, from: s1, to: d1}
  - {name: tcp, implementation: tcp-cubic, from: s2, to: d2}
duration: 5s
captures: [sender, bottleneck-out]
keep_captures: true
"""
WITHOUT_NETWORK = ["bwrap", "--unshare-net", "--die-with-parent", "--dev-bind", "/", "/"]


def _images(*words: object, cache: Path | None = None, walls: list[str] | None = None) -> None:
    environment = {**os.environ, **({"TESTBED_CACHE": str(cache)} if cache else {})}
    command = [*(walls or []), sys.executable, "-m", "images", *map(str, words)]
    subprocess.run(command, check=True, env=environment, cwd=images.PROJECT)


def test_a_pack_is_all_that_a_run_needs(tmp_path: Path) -> None:
    scenario = trial(tmp_path, SCENARIO)
    expected = execute(resolve(expand(scenario, "complete")[0], 1), tmp_path / "here")["digests"]

    _images("pack", tmp_path / "pack.tar.xz")
    cache = tmp_path / "cache"
    _images("unpack", tmp_path / "pack.tar.xz", cache=cache, walls=WITHOUT_NETWORK)
    assert not (cache / "downloads").exists()
    command = [*WITHOUT_NETWORK, f"{Path(sys.executable).parent}/testbed", "run", str(scenario), "--seed", "1"]
    subprocess.run(
        [*command, "--into", tmp_path / "there"], check=True, env={**os.environ, "TESTBED_CACHE": str(cache)}
    )
    (summary,) = (tmp_path / "there").rglob("summary.json")
    assert json.loads(summary.read_text())["digests"] == expected
    shutil.rmtree(cache)
