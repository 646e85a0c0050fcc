"""A sample of `make trial NAME=identity`, which repeats every implementation and every experiment."""

from collections.abc import Callable
from pathlib import Path

import pytest

from scenarios import implementations
from tests.trust import identity


def test_each_implementation_and_experiment_has_its_turn(tmp_path: Path) -> None:
    senders = {name for name, known in implementations.known().items() if "sender" in known["roles"]}
    assert identity.of_implementations(tmp_path).keys() == senders
    studies = {cell.study for cell in identity.of_experiments().values()}
    assert studies == {folder.name for folder in identity.STUDIES.iterdir() if folder.is_dir()}


SAMPLE = ["icccn-claim-cbr-noninterference", "aina-fig3-delay-decrease"]


@pytest.mark.parametrize("name", SAMPLE)
def test_experiments_repeat_beside_busy_cores_and_in_another_folder(
    program: Callable[[str], None], tmp_path: Path, name: str
) -> None:
    """A program beside kernel flows; changes of the path."""
    cell = identity.of_experiments()[name]
    for needed in identity.programs_of(cell):
        program(needed)
    digests, different = identity.differing(cell, tmp_path)
    assert len(digests) > len(cell.settings["captures"])
    assert not different
