"""docs/tutorial: a reader who copies the page's files and runs its commands gets the verdict."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from images.cache import default_root

PAGE = (Path(__file__).parents[2] / "docs/tutorial/first-experiment.md").read_text()
COMMANDS = {"testbed": ["-c", "import sys; from testbed.cli import main; sys.exit(main())"], "python": []}


def test_the_first_experiment_ends_with_verdicts(tmp_path: Path) -> None:
    for name, text in re.findall(r"`(mine/[\w.-]+)`[^`]*:\n\n```yaml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    said = ""
    environment = {**os.environ, "TESTBED_CACHE": str(default_root())}
    for line in "".join(re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)).splitlines():
        program, *words = line.split()
        command = [sys.executable, *COMMANDS[program], *words]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{line}: {done.stderr}"
        said += done.stdout
    claims = json.loads((tmp_path / "out/mine-rate-step/verdicts.json").read_text())["claims"]
    assert [claim["verdict"] for claim in claims] == ["reproduced", "reproduced"]
    assert "mine-rate-step/e02: reproduced (it holds; one seed has no interval): The link stays busy.\n" in said
    assert (tmp_path / "out/mine-rate-step/figure.svg").exists()
