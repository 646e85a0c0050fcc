"""The observer's wheel, in an environment with nothing but what it asks for, and a capture."""

import json
import subprocess
import sys
from pathlib import Path

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
