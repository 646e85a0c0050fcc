"""Scenarios that a test writes for itself."""

from pathlib import Path


def trial(folder: Path, text: str) -> Path:
    """Write a scenario below `folder`, in a file with the name of its experiment; the study is `trial`."""
    name = text.partition("\n")[0].removeprefix("experiment: ")
    file = folder / "trial" / f"{name}.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file
