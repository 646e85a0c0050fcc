"""Results that the whole pipeline makes of one short scenario, in a folder of their own."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from common import sums
from common.sums import FILE
from tests.trust.conftest import SHORT

ROOT = Path(__file__).parents[2]
SCENARIO = SHORT.replace("captures: [", "captures: [bottleneck-in, ") + "seeds: {complete: 2, quick: 1}\n"
CLAIMS = """\
experiment: short
title: A trial
artefact: Fig. 1
finding: full
figure: {kind: time-series, panels: [queue, window]}
claims:
- {id: e01, title: It is used., metric: utilization, paper: "1.0", source: sec. 1, measure: utilization(0.5)}
- {id: e02, title: It waits., metric: waiting, paper: "1.0", source: sec. 1, measure: waited_ms("tcp").mean(0.5)}
- {id: e03, title: It grows., metric: window, paper: "1.0", source: sec. 1, measure: cwnd("tcp").max()}
"""
STUDY = "paper: {title: Trials, authors: [], venue: none}\nfindings: {full: The link is used.}\n"
RUN = "runs/trial/short/single/seed-1"


class Results:
    """Results of the pipeline in a folder of their own."""

    def __init__(self, folder: Path, scenario: str = SCENARIO) -> None:
        self.folder, self.root = folder, folder / "results"
        study = folder / "studies" / "trial"
        study.mkdir(parents=True)
        for name, text in (("short.yaml", scenario), ("short.claims.yaml", CLAIMS), ("study.yaml", STUDY)):
            (study / name).write_text(text)
        folders = f"{{studies: {folder}/studies, results: {folder}/results}}"
        (folder / "config.yaml").write_text(f"studies: [trial]\nfurther_studies: []\nfolders: {folders}\n")

    def begin(self, *targets: str) -> subprocess.Popen[str]:
        """Call the pipeline and do not wait for it."""
        command = [sys.executable, "-m", "snakemake", "--configfile", str(self.folder / "config.yaml"), "--cores", "2"]
        return subprocess.Popen(
            [*command, *targets], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def make(self, *targets: str) -> str:
        """Call the pipeline; what it printed."""
        process = self.begin(*targets)
        said, _ = process.communicate()
        assert process.returncode == 0, said
        return said

    def files(self) -> list[str]:
        return sorted(str(path.relative_to(self.root)) for path in self.root.rglob("*") if path.is_file())

    def vouched(self) -> Iterator[str]:
        """Files that have a sum, those of sums among them; of the runs only the first one's."""
        for file in self.root.rglob(FILE):
            folder = file.parent.relative_to(self.root)
            if not str(folder).startswith("runs") or str(folder) == RUN:
                yield from (str(folder / name) for name in (*sums.read(file.parent), FILE))

    def bytes_that_repeat(self) -> dict[str, str]:
        """Sums of what does not hold the time that something took."""
        repeated = re.compile(r".*\.(pcap|csv|parquet|svg|png|txt)")
        took = "tables/runs.parquet"
        return {
            file: sums.digest(self.root / file) for file in self.files() if repeated.fullmatch(file) and file != took
        }
