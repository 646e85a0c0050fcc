# Makes due again what failed, is damaged, or was removed.
#
# Snakemake by itself looks neither into files nor at what lies between those that rules name, and does not miss a file
# as long as what was made of it is there.
SUMS = "SHA256SUMS"  # of each folder whose files are read again (common/sums.py)


def lost(size, what):
    """Return a note that is newer than what rules make as long as some of it is lost.

    `what` is `report`, `kunit`, or `runs` or `experiments` with an experiment below it.
    """
    name = f"lost/{size}/{what}"
    if not (NOTES / name).exists():
        note(name, "none")
    return f"{NOTES}/{name}"


def lost_runs(wildcards):
    """Return the note for a job's runs."""
    return lost(size_of(wildcards), f"runs/{wildcards.experiment}")


def lost_measurements(wildcards):
    """Return the note for the measurements of an experiment."""
    return lost(size_of(wildcards), f"experiments/{wildcards.experiment}")


def lost_report(wildcards):
    """Return the note for a report."""
    return lost(size_of(wildcards), "report")


def lost_tests(wildcards):
    """Return the note for the outcomes of the module's tests."""
    return lost(size_of(wildcards), "kunit")


def damaged(size):
    """Return what became of each file that is not as it was left, by its path below a folder of results."""
    root = ROOTS[size]
    lines = shell("python -P -m analysis damaged {root:q}", read=True).splitlines()
    files = dict(json.loads(line) for line in lines)
    seeds = Path(seeds_file(size))
    if seeds.name in files:
        raise WorkflowError(
            f"{seeds}: it, or its sum in {root}/{SUMS}, is damaged or missing; put both back, or remove both, and "
            "`snakemake more-seeds` asks for seeds again; if you wrote the file, write its sum: "
            f"cd {root} && sha256sum *.json > {SUMS}"
        )
    return files


def removed(size):
    """Yield the sums of folders that somebody removed or that were never made, by the same paths."""
    root = Path(ROOTS[size])
    for shown in (root / "report" / "figures").glob("*/"):
        if not (root / "experiments" / shown.name / SUMS).exists():
            yield f"experiments/{shown.name}/{SUMS}"
    for experiment, cells in plan(size).items():
        folder = root / "runs" / next(iter(cells.values()))["study"] / experiment
        for number, batch in enumerate(batches(size, experiment), 1):
            # seeds that have just been asked for are new, not lost; Snakemake itself sees that their job is due
            planned = all(seed in cell["seeds"] for cell in batch.cells for seed in batch.seeds)
            was_used = planned and any((root / "experiments" / experiment).glob("*.json"))
            if was_used or (folder / f"job-{number}.done").exists():
                sums = [folder / run / SUMS for run in batch.weights()]
                yield from (str(file.relative_to(root)) for file in sums if not file.exists())
    if (root / "kunit.json").exists() and not (root / SUMS).exists():
        yield "kunit.json"
    if any((root / "report").glob(".made-for-*")) and not (root / "report" / SUMS).exists():
        yield f"report/{SUMS}"


def failed(file):
    """Tell whether a file would belong to a run that failed."""
    return file.parent.with_name(f"failed-{file.parent.name}").exists()


def made_by(file):
    """Return which note stands for what makes a file, given by its path below a folder of results."""
    folder, *names = Path(file).parts
    if folder == "runs":
        return f"runs/{names[1]}"
    if folder == "experiments" and names[1:] and names[1] in ("metrics.csv", "verdicts.json", SUMS):
        return f"experiments/{names[0]}"
    return "kunit" if folder in ("kunit.json", SUMS) else "report"


if workflow.is_main_process:
    there = [size for size, root in ROOTS.items() if Path(root, "runs").exists() or Path(seeds_file(size)).exists()]
    files = {size: damaged(size) for size in there}  # before a plan reads which seeds were asked for
    # a wrong scenario is refused here, in its own words, and not while jobs are looked for
    plan("quick" if "quick" in sys.argv else config["size"])
    for size in there:
        files[size] |= dict.fromkeys(removed(size), "missing")
        for file, what in files[size].items():
            if not failed(Path(ROOTS[size], file)):
                print(f"{ROOTS[size]}/{file}: {what}; due again", file=sys.stderr)
        for what in set(map(made_by, files[size])):
            note(f"lost/{size}/{what}", f"at {STARTED}")
