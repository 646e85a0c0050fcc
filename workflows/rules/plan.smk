# The plan: which cells there are, and which of their runs share a job.
import hashlib
import subprocess
from dataclasses import dataclass


def scenario_files():
    """All scenarios of the studies in the configuration."""
    files = []
    for study in config["studies"]:
        found = [file for file in sorted((STUDIES / study).glob("*.yaml")) if file.name != "claims.yaml"]
        if not found:
            raise WorkflowError(f"workflows/config.yaml: study {study!r} has no scenario in {STUDIES / study}")
        files += found
    return files


@functools.cache
def plan(size):
    """Cells by experiment, as `testbed plan` lists them; asked again only when something it reads has changed."""
    scenarios = scenario_files()
    read = [
        *scenarios,
        *sorted(Path("workflows/schemas").glob("*.yaml")),
        *sorted(Path("images/implementations").glob("*/implementation.yaml")),
        *sorted(Path("engine/scenario").glob("*.py")),
    ]
    key = hashlib.sha256(size.encode())
    for file in read:
        key.update(f"\0{file}\0".encode() + file.read_bytes())
    cache = Path(".snakemake/plans") / f"{key.hexdigest()}.jsonl"
    if not cache.exists():
        try:
            answer = shell("testbed plan {scenarios:q} --size {size}", read=True)
        except subprocess.CalledProcessError:
            raise WorkflowError("`testbed plan` refused a scenario; its message stands above.") from None
        cache.parent.mkdir(parents=True, exist_ok=True)
        partial = cache.with_suffix(f".{os.getpid()}")
        partial.write_text(answer)
        partial.rename(cache)
    experiments = {}
    for line in cache.read_text().splitlines():
        cell = json.loads(line)
        experiments.setdefault(cell["experiment"], {})[cell["cell"]] = cell
    return experiments


@dataclass
class Batch:
    """What one job runs: the same seeds of some cells."""

    cells: list[dict]
    seeds: list[int]

    def takes(self, cell, seeds):
        """Whether it stays within the configuration with these seeds of another cell."""
        count = len(seeds) * (len(self.cells) + 1)
        virtual_s = len(seeds) * (cell["virtual_s"] + sum(own["virtual_s"] for own in self.cells))
        within = count <= config["jobs"]["runs"] and virtual_s <= config["jobs"]["virtual_seconds"]
        return self.seeds == seeds and within


@functools.cache
def batches(size, experiment):
    """The jobs that run an experiment. Long cells are cut by seeds, short ones share a job."""
    jobs = []
    for cell in plan(size)[experiment].values():
        limit = min(config["jobs"]["runs"], max(1, int(config["jobs"]["virtual_seconds"] / cell["virtual_s"])))
        for start in range(0, len(cell["seeds"]), limit):
            seeds = cell["seeds"][start : start + limit]
            if jobs and jobs[-1].takes(cell, seeds):
                jobs[-1].cells.append(cell)
            else:
                jobs.append(Batch([cell], seeds))
    return jobs


def batch_of(wildcards):
    """What a job runs."""
    return batches(SIZES[wildcards.results], wildcards.experiment)[int(wildcards.number) - 1]
