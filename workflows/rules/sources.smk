# What results are made of beside the files that rules name: code, and what boots. A digest of each is kept in a small file
# that is written only when it changes, so that its age says since when things are as they are.
#
# The notes lie with the results, whose age they are compared with; several processes of one pipeline read them.
NOTES = Path(config["folders"]["results"]) / "sources"

# What each stage executes, with all that it imports.
STAGES = {
    "plan": "scenarios.plan",
    "claims": "analysis.claims.plan",
    "kunit": "engine.kunit",
    "columns": "analysis.capture.columns",
    "measure": "analysis.measure",
    "figures": "analysis.figures",
    "report": "analysis.report",
    "compare": "analysis.compare.scenario",
    "comparison": "analysis.compare.pages",
    "interop": "analysis.interop",
}


@functools.cache
def sources():
    """Digests of this checkout's code, and where the cache lists what its sources boot."""
    stages = [f"{stage}={module}" for stage, module in STAGES.items()]
    return json.loads(shell("python -m engine.sources {config[backend]} {stages:q}", read=True))


def note(name, text):
    """Keep a text in a file of the notes, whose time stays if it holds that text."""
    file = NOTES / name
    if not file.exists() or file.read_text() != text:
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_name(f".{file.name}.{os.getpid()}")
        partial.write_text(text)
        partial.rename(file)


def code(stage):
    """What says since when the code of a stage is as it is: `runs`, or one of STAGES."""
    return f"{NOTES}/{stage}"


def index(name):
    """Where the cache lists what boots, or a program, once that is built of the sources as they are now."""
    return f"{CACHE}/{sources()['images'][name]}"


def index_of_program(wildcards):
    """Where the cache lists the program that a job builds."""
    return index(wildcards.program)


def image(name):
    """What says since when what boots, or a program, is as it is: a copy of its index."""
    return f"{NOTES}/images/{name}.json"


def request(name):
    """What is newer than that copy as long as what boots, or a program, is not built of the sources as they are now."""
    return f"{NOTES}/images/{name}.wanted"


def take_notes():
    """Compare the notes with what is there, before Snakemake asks for their age."""
    for stage, digest in sources()["code"].items():
        note(stage, digest)
    for name in sources()["images"]:
        if Path(index(name)).exists():
            note(f"images/{name}.json", Path(index(name)).read_text())
            note(f"images/{name}.wanted", "built")
            built_ns = os.stat(image(name)).st_mtime_ns
            os.utime(request(name), ns=(built_ns, built_ns))
        else:
            # another text each time: Snakemake takes a file that holds what it held before for as old as it was then
            note(f"images/{name}.wanted", f"at {STARTED}")
    # the module's tests do not wait for their kernel, and build it themselves
    note("debug", sources()["images"]["debug"])


def refuse_old_extension():
    """Refuse to read captures by a compiled module that is older than its sources."""
    folder = Path("analysis/capture")
    built = [os.stat(file).st_mtime for file in folder.glob("*.so")]
    if built and min(built) < max(os.stat(file).st_mtime for file in folder.glob("*.[ch]")):
        raise WorkflowError(f"{folder} has changed since it was compiled: `make env` does that")


# a process that carries out one job finds everything as the first process left it
if workflow.is_main_process:
    refuse_old_extension()
    take_notes()
