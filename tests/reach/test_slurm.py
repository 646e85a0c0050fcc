"""The Slurm profile against the Slurm of this machine; skipped where there is none.

The bytes of a run must not depend on who started it.
"""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from engine.images import PROJECT, cache_folder

EXPERIMENT = "icccn-fig2a-ledbat-vs-tcp"
SNAKEMAKE = str(Path(sys.executable).parent / "snakemake")
# without accounting there is no sacct, and the plugin would wait for it
ACCOUNTING = ["--slurm-no-account", "--slurm-status-command", "squeue"]


def _slurm_answers() -> bool:
    if shutil.which("sinfo") is None:
        return False
    return subprocess.run(["sinfo"], capture_output=True, timeout=10, check=False).returncode == 0


pytestmark = [
    pytest.mark.skipif(not _slurm_answers(), reason="no Slurm answers here (sinfo)"),
    pytest.mark.skipif(
        importlib.util.find_spec("snakemake_executor_plugin_slurm") is None,
        reason="snakemake-executor-plugin-slurm is not installed in this environment",
    ),
]


def _results(folder: Path, monkeypatch: pytest.MonkeyPatch, *options: str) -> dict[str, bytes]:
    """Captures and traces of the experiment at size quick, made in a checkout of its own."""
    subprocess.run(["git", "clone", "--quiet", PROJECT, folder], check=True)
    for compiled in PROJECT.glob("analysis/capture/*.so"):
        shutil.copy(compiled, folder / "analysis" / "capture")
    monkeypatch.setenv("TESTBED_CACHE", str(cache_folder()))
    command = ["timeout", "--kill-after=10", "1200", SNAKEMAKE, *options, "--config", "size=quick", "--", EXPERIMENT]
    subprocess.run(command, cwd=folder, check=True)
    runs = folder / "results" / "quick" / "runs"
    kept = [path for path in runs.rglob("*") if path.suffix in (".parquet", ".csv")]
    return {str(path.relative_to(runs)): path.read_bytes() for path in kept}


def test_a_run_is_the_same_on_a_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    local = _results(tmp_path / "local", monkeypatch, "--cores", "all")
    cluster = _results(tmp_path / "cluster", monkeypatch, "--workflow-profile", "profiles/slurm", *ACCOUNTING)
    assert local
    assert local == cluster
