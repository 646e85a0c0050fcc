import io
import json
import time
from pathlib import Path

from rich.console import Console

from analysis.timing import print_times


def test_the_part_of_guests_is_told(tmp_path: Path) -> None:
    summary = tmp_path / "runs" / "made" / "a" / "single" / "seed-1" / "summary.json"
    summary.parent.mkdir(parents=True)
    summary.write_text(json.dumps({"virtual_s": 60.0, "wall_s": 500.0, "cpu_s": 0.9}))
    table = summary.parent / "columns/queue.parquet"
    table.parent.mkdir()
    table.touch()
    told = io.StringIO()
    print_times(tmp_path, since=time.time() - 1000, cores=2, cpu_s=1.2, console=Console(file=told, width=100))
    assert "on 2 cores, on which guests ran for 25% of the time." in told.getvalue()
    assert "CPU time: 1 s, of it 1 s in guests; 25% outside." in told.getvalue()
    print_times(tmp_path, since=time.time() + 1000, cores=2, console=Console(file=told))
    assert told.getvalue().count("on 2 cores") == 1
