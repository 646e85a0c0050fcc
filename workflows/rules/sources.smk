# Results also depend on code and images, which no rule names. A small file, a note, keeps a digest of each. It is
# written only when the digest changes, so its age tells when the code or image last changed.
#
# The notes lie beside the results whose age they are compared with; several processes of one pipeline read them.
NOTES = Path(config["folders"]["results"]) / "sources"

# What each stage executes, with everything that it imports; several modules have commas between them.
STAGES = {
    "plan": "scenarios.cells,topologies",
    "claims": "analysis.claims.plan",
    "kunit": "engine.kunit",
    "columns": "analysis.capture.columns",
    "measure": "analysis.measure",
    "figures": "analysis.figures",
    "report": "analysis.report",
    "site": "testbed",
}


@functools.cache
def sources():
    """Return the digests of this checkout's code, and where the cache lists its images."""
    stages = [f"{stage}={module}" for stage, module in STAGES.items()]
    return json.loads(shell("python -m engine.sources {config[backend]:q} {stages:q}", read=True))


def note(name, text):
    """Write a text to a note, whose time stays if it already holds that text."""
    file = NOTES / name
    if not file.exists() or file.read_text() != text:
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_name(f".{file.name}.{os.getpid()}")
        partial.write_text(text)
        partial.rename(file)


def code(stage):
    """Return the note on the code of a stage: `runs`, or one of STAGES."""
    return f"{NOTES}/{stage}"


def index(name):
    """Return where the cache lists the images that boot, or a program, once they are built from the current sources."""
    return f"{CACHE}/{sources()['images'][name]}"


def index_of_program(wildcards):
    """Return where the cache lists the program that a job builds."""
    return index(wildcards.program)


def image(name):
    """Return the note on the images that boot, or on a program: a copy of its index."""
    return f"{NOTES}/images/{name}.json"


def request(name):
    """Return a file that is newer than that copy as long as it is not built from the current sources."""
    return f"{NOTES}/images/{name}.wanted"


def take_notes():
    """Compare the notes with what is there, before Snakemake looks at their age."""
    for stage, digest in sources()["code"].items():
        note(stage, digest)
    for name in sources()["images"]:
        if Path(index(name)).exists():
            note(f"images/{name}.json", Path(index(name)).read_text())
            note(f"images/{name}.wanted", "built")
            built_ns = os.stat(image(name)).st_mtime_ns
            os.utime(request(name), ns=(built_ns, built_ns))
        else:
            # a new text each time: Snakemake considers a file with unchanged content as old as before
            note(f"images/{name}.wanted", f"at {STARTED}")
    # the module's tests do not wait for their kernel; they build it
    note("debug", sources()["images"]["debug"])


def refuse_old_extension():
    """Refuse to read captures with a compiled module that is older than its sources."""
    folder = Path("analysis/capture")
    built = [os.stat(file).st_mtime for file in folder.glob("*.so")]
    if built and min(built) < max(os.stat(file).st_mtime for file in folder.glob("*.[ch]")):
        raise WorkflowError(f"{folder} has changed since it was compiled: `make env` does that")


# a process that runs one job finds everything as the first process left it
if workflow.is_main_process:
    refuse_old_extension()
    take_notes()
