"""The tables of results: the numbers of an experiment, and the tables over all runs."""

from typing import Final

import polars as pl

from analysis.tables.schema import Column, Table

_CLAIMS: Final = "the file of claims"
_RUN: Final = "run.json"
_SUMMARY: Final = "summary.json"
_FAILED: Final = "the run failed"
_VERDICTS: Final = "verdicts.json"

METRICS: Final = Table(
    "metrics",
    "the number of a claim, or another number of the experiment, in one seed",
    (
        Column("experiment", pl.String, "the experiment", _CLAIMS),
        Column("cell", pl.String, "the cell; `all` for a number of several", _CLAIMS),
        Column("seed", pl.Int64, "the seed", _RUN),
        Column("claim", pl.String, "the claim's id", _CLAIMS, null="it is a number without a claim"),
        Column("metric", pl.String, "what was measured; `holds` for a predicate", _CLAIMS),
        Column("value", pl.String, "the number; `never` for an instant that did not come; `true`, `false`", "the runs"),
        Column("unit", pl.String, "its unit", _CLAIMS, null="it has none"),
    ),
)

_NO_JSON: Final = "the run failed before its run.json was there"

OF_EACH: Final = (
    Column("study", pl.String, "the study", "folder"),
    Column("experiment", pl.String, "the experiment", "folder"),
    Column("cell", pl.String, "the cell's name", "folder"),
    Column("seed", pl.Int64, "the seed", "folder"),
    Column("folder", pl.String, "the run folder, below the folder of results", "folder"),
    Column("size", pl.String, "`complete` or `quick`", _RUN, null=_NO_JSON),
    Column("rate_bps", pl.Int64, "rate of the bottleneck at the start", _RUN, "bit/s", _NO_JSON),
    Column("buffer_pkts", pl.Int64, "its buffer", _RUN, "packets", _NO_JSON),
    Column("base_rtt_ms", pl.Float64, "round-trip time without a queue at the start", _RUN, "ms", _NO_JSON),
)
"""What the rows of runs, flows, queues and events begin with; the cell's values follow as `cell_NAME_UNIT`."""

CELL_VALUE: Final = Column(
    "cell_NAME_UNIT",
    pl.Float64,
    "the cell's value NAME, int64 in the unit that the name ends with (ns, bps, pkts, bytes, ppm, ppb); `cell_NAME` "
    "without a unit is a number, or a text where not all values of that name are quantities of one kind",
    _RUN,
    null="the experiment has no such value",
)

_QUANTITY: Final = "it was not measured: its row says `failed`, or the run has no captures for it"
_PASSING: Final = f"{_QUANTITY}, or the flow does not pass the first bottleneck"
_DATA_PASSING: Final = f"{_QUANTITY}, or the flow's data does not pass the first bottleneck's queue"

RUNS: Final = Table(
    "runs",
    "a run, also one that failed",
    (
        *OF_EACH,
        Column("outcome", pl.String, "`done` or `failed`", _SUMMARY),
        Column("why", pl.String, "why it failed", _SUMMARY, null="it did not"),
        Column("title", pl.String, "the scenario's title", _RUN, null=_NO_JSON),
        Column("topology", pl.String, "the scenario's topology", _RUN, null=_NO_JSON),
        Column("backend", pl.String, "where it ran", _RUN, null=_NO_JSON),
        Column("commit", pl.String, "the commit whose code carried it out", _RUN, null=f"unknown, or {_NO_JSON}"),
        Column("captures", pl.String, "its taps, with commas between", _RUN, null=_NO_JSON),
        Column("flow_count", pl.Int64, "number of flows", _RUN, null=_NO_JSON),
        Column("duration_s", pl.Float64, "length of the run", _SUMMARY, "s", _FAILED),
        Column("utilization", pl.Float64, "word `utilization`", "word", "1", _QUANTITY),
        Column("jain", pl.Float64, "word `jain`: fairness of the forward flows", "word", "1", _QUANTITY),
        Column("wall_s", pl.Float64, "how long it took on its host", _SUMMARY, "s", _FAILED),
        Column("cpu_s", pl.Float64, "CPU time of its guest", _SUMMARY, "s", _FAILED),
    ),
)

FLOWS: Final = Table(
    "flows",
    "a flow of a run",
    (
        *OF_EACH,
        Column("flow", pl.String, "the flow", _RUN),
        Column("implementation", pl.String, "its sender's implementation", _RUN),
        Column(
            "version", pl.String, "its version, as the program says", _SUMMARY, null="it says none, or the run failed"
        ),
        Column("receiver_implementation", pl.String, "its receiver's implementation", _RUN),
        Column("transport", pl.String, "tcp, utp or udp", _RUN),
        Column("direction", pl.String, "`forward` or `backward`", _RUN),
        Column("params", pl.String, "the sender's parameters, as JSON", _RUN),
        Column("target_ms", pl.Float64, "its target", _RUN, "ms", "it has none"),
        Column("start_s", pl.Float64, "when it starts", _RUN, "s"),
        Column("stop_s", pl.Float64, "when its sender is stopped", _RUN, "s", "it never is"),
        Column("bytes", pl.Int64, "what it has to deliver", _RUN, "bytes", "it has no end"),
        Column(
            "outcome",
            pl.String,
            "`done`, an ending (died, gave up, refused, hung, incomplete), `failed` with the run",
            _SUMMARY,
        ),
        Column("ended_s", pl.Float64, "when an endpoint ended as it should not", _SUMMARY, "s", "none did"),
        Column("says", pl.String, "that endpoint's last words", _SUMMARY, null="none did"),
        Column("completed_s", pl.Float64, "word `completed`", "word", "s", "it has no end, or was not complete"),
        Column(
            "received_bytes",
            pl.Int64,
            "correct bytes that its receiver reports, also those that came after the duration",
            _SUMMARY,
            "bytes",
            "it reports none",
        ),
        Column("throughput_bps", pl.Float64, "word `throughput`, of the whole run", "word", "bit/s", _PASSING),
        Column("share", pl.Float64, "word `share`, of the whole run", "word", "1", _PASSING),
        Column("steady_throughput_bps", pl.Float64, "`throughput` from `steady` on", "word", "bit/s", _PASSING),
        Column("steady_share", pl.Float64, "`share` from `steady` on", "word", "1", _PASSING),
        *(
            Column(f"srtt_p{percent}_ms", pl.Float64, f"word `srtt_ms`, percentile {percent}", "word", "ms", _QUANTITY)
            for percent in (50, 95, 99)
        ),
        *(
            Column(
                f"waited_p{percent}_ms",
                pl.Float64,
                f"word `waited_ms`, percentile {percent}",
                "word",
                "ms",
                _DATA_PASSING,
            )
            for percent in (50, 95, 99)
        ),
        Column(
            "dropped_pkts",
            pl.Int64,
            "word `drops`: packets for which the queue had no room",
            "word",
            "packets",
            _DATA_PASSING,
        ),
        Column("loss_rate", pl.Float64, "word `loss_rate` of the flow", "word", "1", _DATA_PASSING),
        Column(
            "retransmitted_pkts",
            pl.Int64,
            "packets sent again, as the sender says",
            "cwnd.parquet",
            "packets",
            "it does not say, or the run failed",
        ),
    ),
)

QUEUES: Final = Table(
    "queues",
    "a queue of a bottleneck of a run that succeeded",
    (
        *OF_EACH,
        Column("queue", pl.String, "the bottleneck: `bottleneck`, `backward_bottleneck`, or with a number", _RUN),
        Column(
            "discipline",
            pl.String,
            "its queueing discipline: `fifo`, or the scenario's `queue`",
            _RUN,
            null="it is that of a further peer's link",
        ),
        Column("sent_pkts", pl.Int64, "packets that left it", _SUMMARY, "packets"),
        Column("sent_bytes", pl.Int64, "their IP bytes", _SUMMARY, "bytes"),
        Column("dropped_pkts", pl.Int64, "packets that it dropped", _SUMMARY, "packets"),
        Column("marked_pkts", pl.Int64, "packets that it marked", _SUMMARY, "packets", "its discipline marks none"),
        Column("loss_rate", pl.Float64, "dropped over all that arrived", _SUMMARY, "1", "none arrived"),
        *(
            Column(f"{name}_{unit}", pl.Float64, f"{says} over time", "word", long, "it has no trace")
            for unit, long in (("pkts", "packets"), ("ms", "ms"))
            for name, says in (
                ("mean", "mean queue"),
                ("p50", "median of the queue"),
                ("p95", "percentile 95 of the queue"),
                ("p99", "percentile 99 of the queue"),
                ("max", "longest queue"),
            )
        ),
    ),
)

EVENTS: Final = Table(
    "events",
    "a value that an event changes",
    (
        *OF_EACH,
        Column("at_s", pl.Float64, "when", _RUN, "s"),
        Column("on", pl.String, "what changes: a bottleneck, or a path", _RUN),
        Column("what", pl.String, "the value's name, whose end is its unit", _RUN),
        Column("value", pl.Float64, "the new value", _RUN, "as the end of `what`", "it is no number"),
        Column("text", pl.String, "the new value as text", _RUN),
    ),
)

CLAIMS: Final = Table(
    "claims",
    "a claim with its verdict",
    (
        Column("study", pl.String, "the study", _VERDICTS),
        Column("experiment", pl.String, "the experiment", _VERDICTS),
        Column("claim", pl.String, "the claim's id", _CLAIMS),
        Column("title", pl.String, "the statement", _CLAIMS, null="it has none"),
        Column("finding", pl.String, "the finding that it belongs to", _CLAIMS),
        Column("cell", pl.String, "the cell of its words", _CLAIMS, null="there is one cell, or it names several"),
        Column("metric", pl.String, "what is measured", _CLAIMS, null="nothing is"),
        Column("unit", pl.String, "the unit of `paper` and of what was measured", _CLAIMS, null="it has none"),
        Column("paper", pl.String, "what the paper prints", _CLAIMS, null="no number"),
        Column("measure", pl.String, "the expression that gives the number", _CLAIMS, null="there is none"),
        Column("holds", pl.String, "the expression that is true or false", _CLAIMS, null="there is none"),
        Column("verdict", pl.String, "the verdict", _VERDICTS),
        Column("why", pl.String, "why it is that", _VERDICTS),
        Column("seeds", pl.Int64, "seeds that have a number or a truth", _VERDICTS),
        Column("mean", pl.Float64, "mean of the seeds' numbers", _VERDICTS, "`unit`", "no seed has one"),
        Column("std", pl.Float64, "their standard deviation", _VERDICTS, "`unit`", "fewer than two seeds have one"),
        Column("low", pl.Float64, "lower end of the 95 % interval of the mean", _VERDICTS, "`unit`", "there is none"),
        Column("high", pl.Float64, "upper end", _VERDICTS, "`unit`", "there is none"),
        Column("held", pl.Int64, "seeds in which `holds` is true", _VERDICTS, null="it has no `holds`"),
    ),
)

OVER_RUNS: Final = (RUNS, FLOWS, QUEUES, EVENTS, CLAIMS)
