"""Runs in a User-Mode Linux guest in virtual time; the default."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from engine import backends, images, launch, provenance, watch
from engine.backends import AGENT
from engine.images import Images, Program
from engine.progress import Stage
from engine.recorder import Recording
from engine.sandbox import Limits
from scenarios.plan.lead import BUILD_NS
from topologies.timeline import BOOT_NS


@dataclass(frozen=True)
class VirtualGuest:
    """See `engine.backends.Guest`."""

    alone: ClassVar[bool] = False
    images: Images
    programs: dict[str, Program]
    arguments: list[str]
    memory_mib: int
    before: tuple[Stage, ...]

    @property
    def provenance(self) -> dict[str, Any]:
        """Images, programs, boot arguments."""
        return provenance.of(self.images, self.programs, self.arguments)

    def origin_ns(self, probe_ns: int) -> int:
        """See `engine.backends.Guest`; in virtual time the same for the same scenario."""
        return BOOT_NS + BUILD_NS + probe_ns

    def execute(self, folder: Path, cpu: int, limits: Limits, recording: Recording) -> int:
        """See `engine.backends.Guest`."""
        with recording.started(self.images.tools, cpu) as (more, descriptors):
            arguments = [*self.arguments, *more]
            command = launch.command(self.images, folder, cpu, arguments, limits, programs=self.programs)
            return watch.run(command, folder, limits, descriptors, self.images.kernel, self.before)


def agent(run: dict[str, Any]) -> dict[str, Any]:
    """See `engine.backends.agent`."""
    return backends.agent(run, delay_tolerance_ns=10_000)


def prepare(run: dict[str, Any]) -> VirtualGuest:
    """See `engine.backends.prepare`. Each implementation gets the `environment` of its root.

    Raises EngineError when images or programs of the run have not been built.
    """
    boot = images.load()
    used = {
        name: images.program(name)
        for name, implementation in run["implementations"].items()
        if implementation["kind"] == "program"
    }
    for name, program in used.items():
        run["implementations"][name]["environment"] = program.environment
    run["agent"] = agent(run)
    memory_mib = run["sizes"]["memory_mib"]
    arguments = launch.boot_arguments(boot, run["seed"], AGENT, memory_mib=memory_mib, foreign=bool(used))
    return VirtualGuest(boot, used, arguments, memory_mib, _stages(run["lead"]))


def _stages(lead: dict[str, int]) -> tuple[Stage, ...]:
    """What happens before the scenario's zero."""
    zero_ns = BUILD_NS + lead["probe_ns"]
    return (
        Stage(BUILD_NS, "while the network was built"),
        Stage(zero_ns - lead["endpoints_ns"], "during the fidelity probe"),
        Stage(zero_ns, "while endpoints were started"),
    )
