"""Wheels in environments with nothing but what they ask for: the observer with a capture, the library with a run."""

import json
import subprocess
import sys
from pathlib import Path

from testbed import Scenario
from tests.analysis.synthetic import NS, ORIGIN_NS, pcapng
from tests.analysis.utp_model import Model


def test_the_wheel_observes_captures_and_nothing_else(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "testbed.release", "--into", tmp_path], check=True)
    [wheel] = tmp_path.glob("ledbat_observer-*.whl")
    assert "-cp311-abi3-" in wheel.name
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "empty"], check=True)
    bin_folder = tmp_path / "empty" / "bin"
    subprocess.run([bin_folder / "pip", "install", "--quiet", wheel], check=True)
    assert not (bin_folder / "snakemake").exists()
    model = Model(duration=5.0)
    model.play()
    (tmp_path / "a.pcapng").write_bytes(pcapng([(ORIGIN_NS + round(t * NS), data) for t, data in model.at(1)]))
    subprocess.run([bin_folder / "testbed", "observe", "a.pcapng"], cwd=tmp_path, check=True)
    [flow] = json.loads((tmp_path / "observed" / "a" / "observation.json").read_text())["flows"]
    assert flow["seen_in"][0]["tap"]["place"] == "receiver"
    assert "<svg" in (tmp_path / "observed" / "a" / "flow-1.svg").read_text()
    refused = subprocess.run([bin_folder / "testbed", "plan", "a.yaml"], capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stderr) == (
        2,
        "runs need ledbat-testbed or a checkout; this installation can only observe\n",
    )


SCENARIO = """\
experiment: alone
title: CUBIC alone
topology: {name: dumbbell, pairs: 1}
bottleneck: {rate: 10mbit, buffer: 40p}
delay: {forward: 25ms, backward: 25ms}
flows: [{name: cubic, implementation: tcp-cubic, from: s1, to: d1}]
duration: 20s
"""
NOTEBOOK = """\
import testbed
from testbed import Observation, Results, Run

results = Results("results")
run = results.run("alone")
assert isinstance(run, Run)
print(testbed.__file__)
print(results.frame("flows")["flow"].item(), run.utilization(5, 20), run.frame("packets").height)
"""
PICTURES = """\
results.figure("alone", "rate").save("alone.svg")
seen = Observation("results/runs/mine/alone/single/seed-1/pcap/bottleneck-out.pcap.gz")
print(*seen.lines, sep="\\n")
"""


def test_a_notebook_needs_the_wheel_and_no_checkout(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/alone.yaml").write_text(SCENARIO)
    run = Scenario(tmp_path / "mine/alone.yaml").run(into=tmp_path / "results").run("alone")
    subprocess.run([sys.executable, "-m", "testbed.release", "--into", tmp_path], check=True)
    [wheel] = tmp_path.glob("ledbat_testbed-*.whl")
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "empty"], check=True)
    bin_folder = tmp_path / "empty" / "bin"
    for asked, code in ((wheel, NOTEBOOK), (f"{wheel}[pictures]", NOTEBOOK + PICTURES)):
        subprocess.run([bin_folder / "pip", "install", "--quiet", asked], check=True)
        said = subprocess.run(
            [bin_folder / "python", "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True
        )
        where, numbers, *lines = said.stdout.splitlines()
        assert Path(where).is_relative_to(tmp_path / "empty")
        assert numbers == f"cubic {run.utilization(5, 20)} {run.frame('packets').height}"
    assert lines[0].startswith("flow-1, 10.0.1.1:")
    assert (tmp_path / "alone.svg").read_text().startswith("<svg")
