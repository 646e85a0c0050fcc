"""The suite ends by itself."""

import signal
import subprocess
import sys
from pathlib import Path

PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
OWN = Path(__file__).parent


def test_what_a_background_job_ignores_its_tests_do_not() -> None:
    """As `sh -c 'pytest &'` starts it: with SIGINT ignored, which programs inherit."""
    test = OWN / "images/test_build_steps.py::test_an_interrupted_build_leaves_no_process_at_work"
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        done = subprocess.run([*PYTEST, str(test)], capture_output=True, text=True, check=False, timeout=60)
    finally:
        signal.signal(signal.SIGINT, before)
    assert done.returncode == 0, done.stdout


def test_a_test_that_hangs_fails_and_the_next_one_runs(tmp_path: Path) -> None:
    conftest = (OWN / "conftest.py").read_text()
    (tmp_path / "conftest.py").write_text(conftest.replace("LIMIT_S = 900.0", "LIMIT_S = 0.5"))
    (tmp_path / "test_it.py").write_text(
        "import subprocess\ndef test_hangs():\n    subprocess.run(['sleep', '100'])\ndef test_passes():\n    pass\n"
    )
    done = subprocess.run([*PYTEST, str(tmp_path)], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert "test_hangs took more than 0 s" in done.stdout
    assert "1 failed, 1 passed" in done.stdout
