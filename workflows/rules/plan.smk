# The plan: which experiments and cells there are, and which of their runs share a job.
import hashlib
import subprocess
from dataclasses import dataclass


def scenario_files():
    """Return all scenarios of the configured studies."""
    files = []
    for study in config["studies"]:
        others = {STUDIES / study / "study.yaml", *(STUDIES / study).glob("*.claims.yaml")}
        found = sorted(set((STUDIES / study).glob("*.yaml")) - others)
        if not found:
            raise WorkflowError(f"workflows/config.yaml: study {study!r} has no scenario in {STUDIES / study}")
        files += found
    return files


def seeds_file(size):
    """Return the file that says how many seeds cells need."""
    return f"{ROOTS[size]}/seeds.json"


@functools.cache
def wanted_seeds(size):
    """Return the seeds by experiment and cell, for cells that need more than their scenario says."""
    file = Path(seeds_file(size))
    return json.loads(file.read_text())["seeds"] if file.exists() else {}


def answer(stage, command, read):
    """Return the lines that a command prints, as data; it runs again only if its code or its input has changed."""
    key = hashlib.sha256(f"{command} {sources()['code'][stage]}".encode())
    for file in read:
        key.update(f"\0{file}\0".encode() + file.read_bytes())
    cache = Path(".snakemake/plans") / f"{key.hexdigest()}.jsonl"
    text = sound_text(cache)
    if text is None:
        try:
            text = shell("{command}", read=True)
        except subprocess.CalledProcessError:
            raise WorkflowError(
                f"`{' '.join(command.split()[:4])}` refused a file; its message stands above."
            ) from None
        cache.parent.mkdir(parents=True, exist_ok=True)
        partial = cache.with_suffix(f".{os.getpid()}")
        partial.write_text(f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}")
        partial.rename(cache)
    return [json.loads(line) for line in text.splitlines()]


def sound_text(file):
    """Return what follows the first line of a file, which is its SHA-256; None if it is missing or damaged."""
    its_sum, _, text = file.read_bytes().partition(b"\n") if file.exists() else (b"", b"", b"")
    return text.decode() if its_sum.decode(errors="replace") == hashlib.sha256(text).hexdigest() else None


@functools.cache
def plan(size):
    """Return the cells of each experiment, as `testbed plan` lists them."""
    files = scenario_files()
    elsewhere = [folder for folder in os.environ.get("TESTBED_IMPLEMENTATIONS", "").split(os.pathsep) if folder]
    own = Path("images/implementations").glob("*")
    described = [file for folder in (*own, *elsewhere) if (file := Path(folder, "implementation.yaml")).exists()]
    read = [*files, *SCHEMAS, *sorted(described)]
    experiments = {}
    for cell in answer("plan", shlex.join(["testbed", "plan", *map(str, files), "--size", size]), read):
        wanted = wanted_seeds(size).get(cell["experiment"], {}).get(cell["cell"], 0)
        cell["more_seeds"] = list(range(len(cell["seeds"]) + 1, wanted + 1))
        experiments.setdefault(cell["experiment"], {})[cell["cell"]] = cell
    return experiments


@functools.cache
def claims():
    """Return what there is to measure, by experiment, as `python -m analysis plan` lists it."""
    folders = [STUDIES / study for study in config["studies"]]
    read = scenario_files() + [file for folder in folders for file in sorted(folder.glob("*.claims.yaml"))]
    read += [file for folder in folders if (file := folder / "study.yaml").exists()]
    planned = answer(
        "claims", shlex.join(["python", "-m", "analysis", "plan", *map(str, folders)]), [*read, *SCHEMAS_OF_CLAIMS]
    )
    return {entry["experiment"]: entry for entry in planned}


@functools.cache
def speeds():
    """Return how fast guests are: what workflows/speeds.yaml says."""
    return yaml.load(Path("workflows/speeds.yaml").read_text(), Loader=yaml.CSafeLoader)


def weight(cell):
    """Return the virtual seconds of one kernel flow at 10 Mbit/s that take as long to simulate as a run of a cell.

    Packets are what takes time, those of programs more, and looks at the flows.
    """
    programs = sum(speeds()["kernel"] / speed for speed in cell["speeds"].values())
    packets = cell["capacity_bps"] / 10e6 * (1 + programs)
    looks = (cell["flows"] - 1) / cell["sample_s"]
    return cell["virtual_s"] * (packets + speeds()["look"] * looks)


@dataclass
class Batch:
    """What one job runs: the same seeds of some cells."""

    cells: list[dict]
    seeds: list[int]

    def takes(self, cell, seeds):
        """Tell whether the job stays within the configured size with these seeds of another cell."""
        count = len(seeds) * (len(self.cells) + 1)
        virtual_s = len(seeds) * (weight(cell) + sum(map(weight, self.cells)))
        within = count <= config["jobs"]["runs"] and virtual_s <= config["jobs"]["virtual_seconds"]
        return self.seeds == seeds and within

    def weights(self):
        """Return the weight of each run with its start, by its path below the folder of its experiment."""
        start = speeds()["start"]
        return {f"{cell['cell']}/seed-{seed}": start + weight(cell) for cell in self.cells for seed in self.seeds}


@functools.cache
def batches(size, experiment):
    """Return the jobs that run an experiment. Long cells are split by seeds; short ones share a job.

    The seeds of a second batch come last, so the first one's jobs stay as they are.
    """
    jobs = []
    cells = plan(size)[experiment].values()
    for cell, all_seeds in [(cell, cell[name]) for name in ("seeds", "more_seeds") for cell in cells]:
        limit = min(config["jobs"]["runs"], max(1, int(config["jobs"]["virtual_seconds"] / weight(cell))))
        for start in range(0, len(all_seeds), limit):
            seeds = all_seeds[start : start + limit]
            if jobs and jobs[-1].takes(cell, seeds):
                jobs[-1].cells.append(cell)
            else:
                jobs.append(Batch([cell], seeds))
    return jobs


def batch_of(wildcards):
    """Return what a job runs."""
    return batches(SIZES[wildcards.results], wildcards.experiment)[int(wildcards.number) - 1]
