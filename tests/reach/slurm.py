"""A Slurm of two nodes on this machine: its controller and two node daemons, from Debian's packages."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# where job steps look, whatever $SLURM_CONF says
CONFIGURATION = Path("/etc/slurm/slurm.conf")
NODES = ("node1", "node2")
_TEXT = """\
ClusterName=two-nodes
SlurmctldHost=localhost
SlurmctldPort=17817
SlurmUser=root
AuthType=auth/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
MpiDefault=none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
ReturnToService=2
MinJobAge=3600
OverTimeLimit=0
KillWait=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
NodeName=node1 NodeHostname=localhost Port=17821 CPUs=1 RealMemory=4000
NodeName=node2 NodeHostname=localhost Port=17822 CPUs=1 RealMemory=4000
PartitionName=test Nodes=node1,node2 Default=YES MaxTime=60 State=UP
"""


def missing() -> str | None:
    """What keeps a Slurm from being started here."""
    if os.geteuid():
        return "only root starts a Slurm"
    for program, package in {"slurmctld": "slurmctld", "slurmd": "slurmd", "munged": "munge"}.items():
        if shutil.which(program) is None:
            return f"{program} is not installed ({package})"
    if CONFIGURATION.exists():
        return f"{CONFIGURATION} exists: this machine has a Slurm of its own"
    return None


@contextmanager
def running(folder: Path) -> Iterator[None]:
    """Two nodes with a processor each, in a partition `test`; `folder` keeps their logs."""
    for part in ("state", *(f"spool-{node}" for node in NODES)):
        (folder / part).mkdir(parents=True)
    CONFIGURATION.write_text(_TEXT.format(folder=folder))
    try:
        subprocess.run(["service", "munge", "start"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["slurmctld"], check=True)
        for node in NODES:
            subprocess.run(["slurmd", "-N", node], check=True)
        _wait_until_idle()
        yield
    finally:
        for daemon in (*NODES, "slurmctld"):
            with suppress(FileNotFoundError, ProcessLookupError):  # it may not have started
                os.kill(int((folder / f"{daemon}.pid").read_text()), signal.SIGTERM)
        CONFIGURATION.unlink()


def _wait_until_idle() -> None:
    command = ["sinfo", "--noheader", "--Node", "--states=idle", "--format=%N"]
    deadline = time.monotonic() + 60
    while subprocess.run(command, capture_output=True, text=True, check=False).stdout.split() != list(NODES):
        assert time.monotonic() < deadline, subprocess.run(["sinfo", "--Node"], capture_output=True, check=False).stdout
        time.sleep(0.5)
