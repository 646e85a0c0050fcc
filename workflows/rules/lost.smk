# Repeats runs that failed or that somebody removed.
def lost(size, experiment):
    """Return a file that is newer than the jobs of an experiment as long as one of their runs is missing."""
    return f"{NOTES}/lost/{size}/{experiment}"


def lost_of(wildcards):
    """Return the same for a job."""
    return lost(size_of(wildcards), wildcards.experiment)


def notice_lost_runs(size, experiment, cells):
    """Make jobs due whose runs failed or were removed; finished runs are kept.

    Snakemake by itself does not look at what lies between the files that rules name, and does not miss a file as long as
    what was made of it is there.
    """
    folder = Path(ROOTS[size], "runs", next(iter(cells.values()))["study"], experiment)
    made = any(Path(ROOTS[size], "experiments", experiment).glob("*.json"))
    missing = False
    for number, batch in enumerate(batches(size, experiment), 1):
        marker = folder / f"job-{number}.done"
        # seeds that have just been asked for are new, not lost; Snakemake itself sees that their job is due
        planned = all(seed in cell["seeds"] for cell in batch.cells for seed in batch.seeds)
        if made and planned and not marker.exists():
            folder.mkdir(parents=True, exist_ok=True)
            marker.touch()
        if marker.exists() and not all((folder / run / "summary.json").exists() for run in batch.weights()):
            missing = True
    if missing:
        note(f"lost/{size}/{experiment}", f"at {STARTED}")  # after the markers, so that it is newer


if workflow.is_main_process:
    for size, root in ROOTS.items():
        for experiment in plan(config["size"]):
            if not Path(lost(size, experiment)).exists():
                note(f"lost/{size}/{experiment}", "none")
        if Path(root, "runs").exists():
            for experiment, cells in plan(size).items():
                notice_lost_runs(size, experiment, cells)
