"""`testbed doctor` in roots of Ubuntu that have Python and nothing else of what the testbed needs."""

import re
import subprocess

import pytest

from engine import doctor
from engine.images import PROJECT
from tests.reach import ubuntu

# the packages, and the sandbox that one of them brings; Python 3.10 is too old
MISSING = [package.name for package in doctor.host_packages(doctor.PACKAGES.read_text())] + ["sandbox"]
EXPECTED = {"noble": MISSING, "jammy": ["python", *MISSING]}


@pytest.mark.skipif(ubuntu.missing() is not None, reason=str(ubuntu.missing()))
@pytest.mark.parametrize("suite", EXPECTED)
def test_it_names_what_a_bare_ubuntu_lacks(suite: str) -> None:
    words = ["bwrap", "--die-with-parent", "--ro-bind", str(ubuntu.root(suite, ["python3"])), "/", "--dev", "/dev"]
    # the host's own /proc: in a new one, parts of which bwrap covers, nobody inside could make another
    words += ["--bind", "/proc", "/proc", "--tmpfs", "/tmp", "--ro-bind", str(PROJECT), "/opt", "--chdir", "/opt"]
    words += ["--clearenv", "--setenv", "PATH", "/usr/sbin:/usr/bin", "--setenv", "DEBIAN_MIRROR", "http://localhost"]
    done = subprocess.run([*words, "python3", "-B", "-m", "engine.doctor"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert re.findall(r"^MISSING (\S+)", done.stdout, re.MULTILINE) == EXPECTED[suite]
    for name in MISSING[:-1]:
        assert f"-> sudo apt-get install --yes --no-install-recommends {name}\n" in done.stdout
