# The plan: which experiments and cells there are, and which of their runs share a job.
import hashlib
import subprocess

from testbed.batches import batches as of_experiment
from testbed.batches import speeds


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
def batches(size, experiment):
    """Return the jobs that run an experiment."""
    return of_experiment(plan(size)[experiment].values(), config["jobs"])


def batch_of(wildcards):
    """Return what a job runs."""
    return batches(SIZES[wildcards.results], wildcards.experiment)[int(wildcards.number) - 1]
