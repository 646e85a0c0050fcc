"""The files of a run folder and of results that are no Parquet tables, and the fields of those in JSON."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class File:
    """A file, or files of one kind: its path in the folder, with names that vary in capitals, and what it holds."""

    path: str
    holds: str


@dataclass(frozen=True)
class Field:
    """A field of a JSON file; `*` stands for names, `[]` for the entries of a list. `below` stand others, elsewhere."""

    path: str
    type: str
    meaning: str
    unit: str = ""
    below: bool = False


RUN_JSON: Final = "run.json"
SUMMARY: Final = "summary.json"
VERDICTS: Final = "verdicts.json"

OF_RUN: Final = (
    File(RUN_JSON, "what the run had to do: the scenario with every value resolved, and what it was made with"),
    File(SUMMARY, "how it ended, and what was counted"),
    File("SHA256SUMS", "the SHA-256 of all files that are read again; `sha256sum --check --strict` compares them"),
    File("columns/NAME.parquet", "packets and traces as tables; see below"),
    File("pcap/TAP.pcap", "a capture of the tap TAP, nanoseconds; `TAP.INTERFACE.pcap` where a tap has several"),
    File("pcap/TAP.pcap.gz", "the same, packed: of each tap that `keep_captures` does not name"),
    File("traces/events.csv", "`time_ns`, `what`: each event when it happened, in the guest's words"),
    File("traces/queue.csv", "queue.parquet as the guest wrote it"),
    File("traces/queue-backward.csv", "queue-backward.parquet as the guest wrote it"),
    File("traces/cwnd-FLOW.csv", "the rows of cwnd.parquet of the flow FLOW, as its sender wrote them"),
    File("logs/FLOW.ROLE.out", "what the flow's sender or receiver printed; `.err` its standard error"),
    File("logs/console.log", "what the guest's kernel printed"),
    File("logs/NAME", "what the guest's other programs printed"),
    File("observation.json", "what `testbed observe RUN` found"),
    File("observation.svg", "the picture of it"),
)

OF_RESULTS: Final = (
    File("runs/STUDY/EXPERIMENT/CELL/seed-N/", "a run folder"),
    File("runs/STUDY/EXPERIMENT/CELL/failed-seed-N/", "the same of a run that failed, as far as it came"),
    File("runs/STUDY/EXPERIMENT/CELL/.seed-N.PID.partial/", "a run under way, or what a kill left of it"),
    File("store/", "links to run folders by what decides their bytes: runs of several names share their files"),
    File("unused-runs/", "runs that no scenario plans any more; they come back when one does"),
    File("runs/STUDY/EXPERIMENT/job-N.done", "the note that a job of the pipeline has ended"),
    File("experiments/EXPERIMENT/metrics.csv", "the number of each claim in each seed; see below"),
    File("experiments/EXPERIMENT/verdicts.json", "the claims with their verdicts; see below"),
    File("experiments/EXPERIMENT/figure.svg", "the figure"),
    File("experiments/EXPERIMENT/figure-narrow.svg", "the same for phones"),
    File("experiments/EXPERIMENT/figure.html", "the same, interactive"),
    File("experiments/EXPERIMENT/figure.txt", "its caption"),
    File("experiments/viewer.js", "what each `figure.html` draws with"),
    File("experiments/EXPERIMENT/.due", "how old the runs are that it is measured from"),
    File("experiments/.measured-for-NAME", "the note that what the target NAME needs is measured"),
    File("tables/NAME.parquet", "the tables over all runs; see below"),
    File("tables/datapackage.json", "their description as a Data Package (datapackage.org)"),
    File("tables/.rows/EXPERIMENT/rows.json", "the rows of an experiment, kept until it changes"),
    File("tables/.made-for-NAME", "the note that the target NAME has its tables"),
    File("kunit.json", "the outcome of each of the module's own tests"),
    File("report/", "the report, which begins with `index.html`, and its figures"),
    File("site/", "what `snakemake site` makes to publish"),
    File("sources/", "notes of the code, images and runs that all this was made with, by which it is made again"),
    File(".testbed.lock", "what keeps a second pipeline waiting"),
    File("logs/", "what the pipeline's jobs printed"),
)

FIELDS: Final = {
    RUN_JSON: (
        Field("format", "whole number", "the version of this list"),
        Field("study", "text", "the study, which is the folder of the scenario"),
        Field("experiment", "text", "the experiment"),
        Field("cell", "text", "the cell's name: its values as NAME=VALUE, with commas between"),
        Field("size", "text", "`complete` or `quick`"),
        Field("cell_values.*", "text or number", "the cell's values by their names, as the scenario writes them"),
        Field("seed", "whole number", "the seed"),
        Field("title", "text", "the scenario's title"),
        Field("topology", "fields", "the scenario's topology", below=True),
        Field("ip", "whole number", "the version of IP, 4 or 6; not there: 4"),
        Field("bottleneck", "fields", "rate (`_bps`), buffer and queue of the bottleneck", below=True),
        Field(
            "backward_bottleneck", "fields or null", "the same of the reverse path; null without a limit", below=True
        ),
        Field("delay", "fields", "`forward_ns` and `backward_ns`", "ns", below=True),
        Field("delay_b", "fields or null", "the same of the second path, if there is one", "ns", below=True),
        Field("tcp", "fields", "how TCP behaves", below=True),
        Field("offload", "true or false", "whether segments are joined (TSO, GRO)"),
        Field("flows[].name", "text", "the flow"),
        Field("flows[].implementation", "text", "its sender's implementation"),
        Field("flows[].receiver_implementation", "text", "its receiver's, where that is another"),
        Field("flows[].from", "text", "the host of its sender"),
        Field("flows[].to", "text", "the host of its receiver"),
        Field("flows[].from_address", "text", "the sender's address"),
        Field("flows[].to_address", "text", "the receiver's address"),
        Field("flows[].port", "whole number", "the receiver's port"),
        Field("flows[].direction", "text", "`forward`, or `backward` from a d host to an s host"),
        Field("flows[].start_ns", "whole number", "when the sender starts, jitter included", "ns"),
        Field("flows[].stop_ns", "whole number", "when it is stopped", "ns"),
        Field("flows[].bytes", "whole number or null", "what it has to deliver; null: no end", "bytes"),
        Field("flows[].params", "fields", "the sender's parameters; names end with the unit", below=True),
        Field("flows[].receiver_params", "fields", "the receiver's", below=True),
        Field("flows[].may_fail", "true or false", "whether the ends of its endpoints are results"),
        Field("flows[].*", "any", "further fields of the scenario, under their names and with their units", below=True),
        Field("events[]", "fields", "changes of the path: `at_ns`, `on`, and the new values", below=True),
        Field("clocks[]", "fields", "clocks of hosts that are off", below=True),
        Field("duration_ns", "whole number", "the planned length", "ns"),
        Field("sample_ns", "whole number", "the period of the traces", "ns"),
        Field("origin_ns", "whole number", "the scenario's zero on the guest's clock, which captures show", "ns"),
        Field("captures[]", "text", "the taps whose packets the tables have"),
        Field("keep_captures", "true or false", "whether these captures stay unpacked, and traces as CSV"),
        Field("network", "fields", "nodes, links, addresses, queues and taps", below=True),
        Field("hosts", "fields", "settings of each host's kernel: sysctls, options of routes", below=True),
        Field("implementations.*", "fields", "what each implementation's description says", below=True),
        Field("backend", "text", "`virtual`, `qemu` or `native`"),
        Field("provenance", "fields", "commit, digests and versions of code, kernel, root and programs", below=True),
        Field("agent", "fields", "what the guest's agent gets beside this", below=True),
        Field("lead", "fields", "what happens before zero, and when", below=True),
        Field("sizes", "fields", "memory and buffers of the guest", below=True),
        Field("*", "any", "further fields of the scenario, under their names and with their units", below=True),
    ),
    SUMMARY: (
        Field("status", "text", "`ok` or `failed`"),
        Field("error", "text or null", "why it failed"),
        Field(
            "ended_ns", "whole number", "when it ended: as planned, or when all flows had delivered their bytes", "ns"
        ),
        Field("latest_event_ns", "whole number", "how late the latest event was", "ns"),
        Field("virtual_s", "number", "the guest's uptime at its end", "s"),
        Field("wall_s", "number", "how long the run took on this host", "s"),
        Field("cpu_s", "number", "the CPU time of its guest", "s"),
        Field("digests.*", "text", "the SHA-256 of each capture and trace, as the run left them"),
        Field("versions.*", "text", "the version of each implementation, as the program says"),
        Field(
            "captured", "fields", "of each file of pcap/: `pkts`, and `wire_bytes` with Ethernet headers", below=True
        ),
        Field("audit", "text", "what was compared and agreed: a run of which something does not fails"),
        Field("probe.*.forward_ns", "whole number", "the delay of an idle path to the receiver", "ns"),
        Field("probe.*.backward_ns", "whole number", "the delay back", "ns"),
        Field("probe.*.capacity_bps", "number or null", "the rate of the idle path; null without a limit", "bit/s"),
        Field("probe.*.backward_capacity_bps", "number or null", "the same of the reverse path", "bit/s"),
        Field(
            "flows.*.received_bytes",
            "whole number or null",
            "correct bytes that the receiver reports when it is ended, `lead.receivers_ns` after the duration; those "
            "that waited in queues at its end are among them, and not in the word `throughput`",
            "bytes",
        ),
        Field(
            "flows.*.completed_ns", "whole number or null", "when all of `bytes` was there; null: it never was", "ns"
        ),
        Field("flows.*.sender_exit", "whole number or null", "the sender's exit status; negative: a signal"),
        Field("flows.*.receiver_exit", "whole number or null", "the receiver's"),
        Field("flows.*.outcomes[].endpoint", "text", "`sender` or `receiver`"),
        Field("flows.*.outcomes[].ending", "text", "how it ended, where it was not done"),
        Field("flows.*.outcomes[].at_ns", "whole number", "when", "ns"),
        Field("flows.*.outcomes[].says", "text", "its own last words"),
        Field("counters.interfaces.*.received_pkts", "whole number", "frames that came in", "packets"),
        Field(
            "counters.interfaces.*.received_bytes", "whole number", "their bytes, Ethernet headers included", "bytes"
        ),
        Field("counters.interfaces.*.sent_pkts", "whole number", "frames that went out", "packets"),
        Field("counters.interfaces.*.sent_bytes", "whole number", "their bytes, Ethernet headers included", "bytes"),
        Field("counters.interfaces.*.lost_pkts", "whole number", "frames that the interface lost", "packets"),
        Field("counters.refused.*", "whole number", "packets that a filter at an interface refused", "packets"),
        Field("counters.cards", "fields", "the same of the finite links of hosts", below=True),
        Field("counters.queues.*.time_ns", "whole number", "how long it was counted", "ns"),
        Field("counters.queues.*.backlog_pkts", "whole number", "packets that still waited", "packets"),
        Field("counters.queues.*.backlog_bytes", "whole number", "their IP bytes", "bytes"),
        Field("counters.queues.*.sent_pkts", "whole number", "packets that left it in that time", "packets"),
        Field("counters.queues.*.sent_bytes", "whole number", "their IP bytes", "bytes"),
        Field("counters.queues.*.dropped_pkts", "whole number", "packets that it dropped", "packets"),
        Field("counters.queues.*.marked_pkts", "whole number", "packets that it marked (ECN)", "packets"),
        Field("counters.queues.*.overflowed_pkts", "whole number", "packets that found it full", "packets"),
        Field("counters.queues.*.*", "whole number", "further counters of its queueing discipline"),
    ),
    VERDICTS: (
        Field("format", "whole number", "the version of this list"),
        Field("study", "text", "the study"),
        Field("paper", "fields", "its paper, as study.yaml has it", below=True),
        Field("findings", "fields", "its findings by their ids", below=True),
        Field("quotes", "fields", "the paper's sentences", below=True),
        Field("apart", "fields", "findings that count apart, by kind", below=True),
        Field("concluded", "fields", "findings by the list of conclusions that they are in", below=True),
        Field("conclusions", "fields", "the outcome in sentences", below=True),
        Field("experiments", "fields", "all experiments of the study", below=True),
        Field("experiment", "fields", "the file of claims, without its claims", below=True),
        Field("host", "fields", "the host that measured", below=True),
        Field("runs", "fields", "the runs that succeeded: cell, seed, size, `virtual_s`, `wall_s`, probe", below=True),
        Field("settings", "fields", "network and flows of each cell", below=True),
        Field("provenance", "fields", "what the runs were made with; lists where they differ", below=True),
        Field("versions", "fields", "versions of the implementations", below=True),
        Field("asserted", "fields", "the paper's settings, and whether they were compared", below=True),
        Field("also_measured", "fields", "numbers without a verdict", below=True),
        Field("failed", "fields", "the runs that failed: cell, seed, why", below=True),
        Field("figure", "fields", "the figure's declaration, with its numbers", below=True),
        Field("claims[].verdict", "text", "the verdict"),
        Field("claims[].why", "text", "why it is that"),
        Field("claims[].measured", "fields or null", "the seeds' numbers: mean, spread and `by_seed`", below=True),
        Field("claims[].held", "fields or null", "whether `holds` is true, by seed", below=True),
        Field("claims[].unknown", "fields", "why a seed has no number, by seed", below=True),
        Field("claims[].reads", "list", "the runs that its expressions use", below=True),
        Field("claims[].rule", "text", "the rule that decided"),
        Field("claims[].rule_reason", "text", "why there is this rule"),
        Field("claims[].measured_interval", "list or null", "the interval of the seeds' mean", below=True),
        Field("claims[].seeds_wanted", "whole number or null", "seeds that would decide it, where it is open"),
        Field(
            "claims[].zones", "fields or null", "what counts as `holds` and as `nearly`; null: an open end", below=True
        ),
        Field(
            "claims[].chance",
            "number or null",
            "how likely numbers as far outside are if the truth is on the edge of `nearly`",
        ),
        Field("claims[].by_reading", "fields", "verdicts by the study's other readings", below=True),
        Field("claims[].*", "any", "the claim's fields of docs/reference/claims.md, under their names", below=True),
    ),
}
