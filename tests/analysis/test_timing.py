import io
import json
from pathlib import Path

from rich.console import Console

from analysis.timing import print_times

HEAD = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n"


def test_the_largest_job_is_named(tmp_path: Path) -> None:
    summary = tmp_path / "runs" / "made" / "a" / "single" / "seed-1" / "summary.json"
    summary.parent.mkdir(parents=True)
    summary.write_text(json.dumps({"virtual_s": 60.0, "wall_s": 1.0, "cpu_s": 0.9}))
    for name, most in (("runs/made/a/job-1", "90.5"), ("measurements/a", "512.3"), ("report/all", "-")):
        table = tmp_path / "logs" / f"{name}.tsv"
        table.parent.mkdir(parents=True, exist_ok=True)
        table.write_text(HEAD + f"2.0\t0:00:02\t1\t1\t1\t{most}\t0\t0\t1\t1\n")
    told = io.StringIO()
    print_times(tmp_path, since=0.0, cores=2, cpu_s=1.2, console=Console(file=told, width=100))
    assert "Largest job: 512 MB of memory (measurements/a)." in told.getvalue()
    assert "metrics and verdicts" in told.getvalue()
    assert "CPU time: 1 s, of it 1 s in guests; 25% outside." in told.getvalue()
