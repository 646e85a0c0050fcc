"""Whether the KUnit cases notice a mistake: `python -m tests.tcp_ledbat.mutants`, or `make mutants`.

Each mutant is the module with one change that makes it wrong. One build holds them all: of each function that is
changed there is a copy for each mutant, and a parameter of the test module says whose is called. A guest with the debug
kernel loads the tests with each. A mutant is killed if a case fails, or the guest crashes; the table says which. The
exit status is 0 if the module without a change passes and at least 95 % are killed.
"""

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from engine import handover, images, kunit, launch, watch
from engine.cpu_claims import free_cpu
from engine.errors import EngineError
from images import index, module
from images.build_root import BuildRoot
from images.cache import Store, default_root
from images.kernel import build as kernel
from images.kernel.build import REPRODUCIBLE

SOURCES: Final = module.HERE / "tcp_ledbat"
PROGRAM: Final = "load_mutants"
ENOUGH: Final = 0.95
AT_ONCE: Final = 10  # in one guest: each leaves memory behind
UNCHANGED: Final = -1

Wanted = list[tuple[int, tuple[str, ...]]]
"""Numbers of mutants, and the test modules that are loaded for each."""

SOCKET_TEST, ARITHMETIC_TEST = "tcp_ledbat_socket_test", "tcp_ledbat_test"
PARAMETER: Final = "#include <linux/moduleparam.h>\nstatic int mutant;\nmodule_param(mutant, int, 0);\n"


@dataclass(frozen=True)
class Mutant:
    """What stands in place of a text that is once in a file; any white space of the file is a space in it."""

    file: str
    old: str
    new: str


MUTANTS: Final = (
    # delay.h
    Mutant("delay.h", "(s32)(difference - delay->first_sample) * unit_us", "(s32)(difference - delay->first_sample)"),
    Mutant("delay.h", "delay->first_sample = difference;", "delay->first_sample = 0;"),
    Mutant("delay.h", "remote_us > local_us / 2", "remote_us > local_us / 1024"),
    Mutant("delay.h", "remote_us < local_us * 2", "remote_us < local_us * 2048"),
    Mutant("delay.h", "base->minimum_us[0] = sample_us;", ";"),
    Mutant("delay.h", "base->slot_start += passed * LEDBAT_SLOT_JIFFIES;", "base->slot_start = now;"),
    Mutant("delay.h", "(base->slot + 1) % slots", "base->slot"),
    Mutant("delay.h", "min(base->used + 1, (int)slots)", "(int)slots"),
    Mutant("delay.h", "base->minimum_us[base->slot] = sample_us;", ";"),
    Mutant("delay.h", "min(base->minimum_us[base->slot], sample_us)", "base->minimum_us[base->slot]"),
    Mutant("delay.h", "min(base->smallest_us, base->minimum_us[i])", "base->minimum_us[i]"),
    Mutant("delay.h", "(delay->newest + delay->filter - age)", "(delay->newest + age)"),
    Mutant("delay.h", "(u16)(now - delay->taken[ledbat_nth(delay, age)]) <= rtt", "true"),
    Mutant("delay.h", "delay->recent - 1", "0"),
    Mutant("delay.h", "delay->taken[delay->newest] = now;", ";"),
    Mutant("delay.h", "min(delay->recent + 1, (int)delay->filter)", "1"),
    Mutant("delay.h", "delay->current_us = sample_us;", ";"),
    Mutant("delay.h", "delay->source == LEDBAT_ONE_WAY", "true"),
    Mutant("delay.h", "!ledbat_base_of(delay)->used", "false"),
    Mutant("delay.h", "delay->bounded && delay->round_trip.used", "delay->round_trip.used"),
    Mutant("delay.h", "delay->rtt_us - delay->round_trip.smallest_us", "delay->rtt_us"),
    Mutant("delay.h", "max(queuing_us, 0)", "queuing_us"),
    Mutant("delay.h", "ledbat_ith_us(history, history->length - 1) >= sample_us", "false"),
    Mutant("delay.h", "ledbat_age(history, 0) >= LEDBAT_HISTORY_AGE", "false"),
    Mutant("delay.h", "ledbat_age(history, middle) < newest", "ledbat_age(history, middle) <= newest"),
    # window.h
    Mutant("window.h", "*credit_us >= (s64)cwnd * target_us", "*credit_us > (s64)cwnd * target_us"),
    Mutant("window.h", "*credit_us -= (s64)cwnd * target_us;", "*credit_us = 0;"),
    Mutant("window.h", "cwnd <= floor", "cwnd < floor"),
    Mutant("window.h", "*credit_us += (s64)cwnd * target_us;", "*credit_us = 0;"),
    Mutant("window.h", "*count_us >= (s64)cwnd * target_us", "*count_us > (s64)cwnd * target_us"),
    Mutant("window.h", "(s64)(cwnd - 2) * target_us", "(s64)(cwnd - 1) * target_us"),
    Mutant("window.h", "max(cwnd - 1, floor)", "cwnd - 1"),
    Mutant("window.h", "div_u64(max(credit_us, 0LL), cwnd)", "0"),
    Mutant("window.h", "*credit_us = (s64)cwnd * fraction;", "*credit_us = 0;"),
    Mutant("window.h", "(s64)target_us - queuing_us", "(s64)target_us - queuing_us / 2"),
    Mutant("window.h", "ledbat_linear_us(target_us, queuing_us) * acked", "ledbat_linear_us(target_us, queuing_us)"),
    Mutant("window.h", "gain_ppm, LEDBAT_PPM)", "LEDBAT_PPM, LEDBAT_PPM)"),
    Mutant("window.h", "mul_u64_u32_div(abs(step_us), gain_ppm,", "div_u64(abs(step_us) * gain_ppm,"),
    Mutant("window.h", "step_us < 0 ? -size_us : size_us", "size_us"),
    Mutant("window.h", "check_mul_overflow(step_us, (s64)acked, &credit_us)", "(credit_us = step_us * acked, false)"),
    Mutant("window.h", "S64_MIN / 2; return credit_us;", "0; return credit_us;"),
    Mutant("window.h", "max_t(u32, queuing_us - target_us, USEC_PER_MSEC)", "queuing_us - target_us"),
    Mutant("window.h", "excess_us * packets * target_us", "excess_us * target_us"),
    Mutant("window.h", "(s64)excess_us * cwnd", "(s64)excess_us"),
    Mutant("window.h", "mul_u64_u32_div(window, beta_ppm, LEDBAT_PPM)", "window / 2"),
    Mutant("window.h", "kept > extra ? kept - extra : 0", "kept"),
    Mutant("window.h", "rtt_us > target_us", "true"),
    Mutant("window.h", "!base_us", "base_us == 1"),
    Mutant("window.h", "DIV_ROUND_UP(2 * target_us, base_us)", "(2 * target_us) / base_us"),
    Mutant("window.h", "target_us / divisor", "0"),
    Mutant("window.h", "window / 2)", "window / 4)"),
    Mutant("window.h", "min(cwnd, max(cwnd / 2, floor))", "max(cwnd / 2, floor)"),
    Mutant("window.h", "max(cwnd / 2, floor))", "cwnd / 2)"),
    Mutant("window.h", "(s32)(snd_una - round_end) > 0", "(s32)(snd_una - round_end) >= 0"),
    # main.c
    Mutant("main.c", "USEC_PER_SEC / TCP_TS_HZ", "1"),
    Mutant("main.c", "local_ms < LEDBAT_CLOCK_CHECK_MS", "false"),
    Mutant("main.c", "local_ms < LEDBAT_CLOCK_STALE_MS", "true"),
    Mutant("main.c", "delay->source = LEDBAT_ROUND_TRIP;", ";"),
    Mutant("main.c", "delay->recent = 0;", ";"),
    Mutant("main.c", "delay->current_us = delay->rtt_us;", ";"),
    Mutant("main.c", "delay->history->length = 0;", ";"),
    Mutant("main.c", "delay->remote_stamp = stamp;", ";"),
    Mutant("main.c", "!sample->pkts_acked", "false"),
    Mutant("main.c", "tp->rx_opt.saw_tstamp", "true"),
    Mutant("main.c", "delay->source == LEDBAT_ONE_WAY && sample->pkts_acked", "delay->source == LEDBAT_ONE_WAY"),
    Mutant("main.c", "!tp->rx_opt.rcv_tsecr", "false"),
    Mutant("main.c", "ca->restarts && sample->pkts_acked &&", "ca->restarts &&"),
    Mutant("main.c", "tp->snd_ssthresh + 1", "tp->snd_ssthresh"),
    Mutant("main.c", "delay->rtt_us = sample->rtt_us;", ";"),
    Mutant("main.c", "*sample_us = sample->rtt_us;", "*sample_us = 0;"),
    Mutant("main.c", "return sample->rtt_us > 0;", "return true;"),
    Mutant(
        "main.c",
        "ledbat_drop_stale(ca->delay, ledbat_now(tp), min_t(u32, (tp->srtt_us >> 3 >> 10) + 1, U16_MAX));",
        ";",
    ),
    Mutant("main.c", "tp->is_cwnd_limited ||", "false ||"),
    Mutant("main.c", "tcp_packets_in_flight(tp) + acked + 1", "tcp_packets_in_flight(tp) + acked + 2"),
    Mutant("main.c", "max(ca->reno_ssthresh, tp->snd_ssthresh)", "ca->reno_ssthresh"),
    Mutant("main.c", "WRITE_ONCE(tp->snd_ssthresh, threshold);", ";"),
    Mutant("main.c", "tcp_snd_cwnd(tp) <= ca->min_window", "true"),
    Mutant("main.c", "tp->snd_ssthresh > tcp_snd_cwnd(tp)", "true"),
    Mutant("main.c", "min(ca->credit_us, (s64)cwnd * ca->target_us - 1)", "ca->credit_us"),
    Mutant("main.c", "ca->undo_ssthresh = ca->reno_ssthresh;", ";"),
    Mutant("main.c", "ca->reno_ssthresh = tcp_reno_ssthresh(sk);", ";"),
    Mutant("main.c", "ca->slow_start == LEDBAT_SLOW_START_AFTER_OVERSHOOT &&", ""),
    Mutant("main.c", "ca->restarts ? ca->min_window : half", "half"),
    Mutant("main.c", "max(ca->reno_ssthresh, ca->undo_ssthresh)", "ca->reno_ssthresh"),
    Mutant("main.c", "ca->restarts = 0;", ";"),
    Mutant(
        "main.c",
        "delay->source = source;",
        "delay->source = tp->rx_opt.tstamp_ok ? source : LEDBAT_ROUND_TRIP;",
    ),
    Mutant("main.c", "ledbat_variant_of(sk)->standard", "false"),
    Mutant("main.c", "ca->reno_ssthresh = tp->snd_ssthresh;", ";"),
    Mutant("main.c", "icsk->icsk_ca_state <= TCP_CA_Disorder", "true"),
    Mutant("main.c", "SK_PACING_NEEDED);", "SK_PACING_NONE);"),
    Mutant("main.c", "tp->data_segs_out <= tp->syn_data", "!tp->data_segs_out"),
    Mutant("main.c", "min(tcp_snd_cwnd(tp), LEDBAT_INIT_CWND)", "LEDBAT_INIT_CWND"),
    Mutant(
        "main.c",
        "tp->snd_ssthresh < ca->reno_ssthresh) WRITE_ONCE(tp->snd_ssthresh, ca",
        "false) WRITE_ONCE(tp->snd_ssthresh, ca",
    ),
    Mutant("main.c", "!(ext & BIT(INET_DIAG_VEGASINFO - 1))", "false"),
    Mutant("main.c", "ca->info.queuing_delay_us = ledbat_queuing_delay_us(delay);", ";"),
    Mutant("main.c", "delay ? delay->source << 24 : 0", "0"),
    Mutant("variants.c", "ledbat_report(inet_csk_ca(sk));", ";"),
    # variants.c
    Mutant("variants.c", "inet_csk(sk)->icsk_ca_state <= TCP_CA_Disorder", "true"),
    Mutant("variants.c", "tcp_is_cwnd_limited(sk) ? tcp_slow_start(tp, acked) : 0", "tcp_slow_start(tp, acked)"),
    Mutant("variants.c", "event == CA_EVENT_COMPLETE_CWR ||", "false ||"),
    Mutant("variants.c", "event == CA_EVENT_LOSS", "false"),
    Mutant("variants.c", "ledbat_times(step_us, acked)", "step_us"),
    Mutant("variants.c", "credit_us <= 0 || ledbat_uses_window(tcp_sk(sk), acked)", "true"),
    Mutant("variants.c", "credit_us <= 0 ||", "false ||"),
    Mutant("variants.c", "tcp_is_cwnd_limited(sk) && ledbat_slow_start(sk, acked)", "ledbat_slow_start(sk, acked)"),
    Mutant("variants.c", "!ledbat_round_over(tp->snd_una, ca->round_end)) return false", "false) return false"),
    Mutant("variants.c", "above ? tp->snd_nxt : tp->snd_una - 1", "tp->snd_nxt"),
    Mutant("variants.c", "queuing_us < ca->target_us", "true"),
    Mutant("variants.c", "ca->rtt_us = sample->rtt_us;", ";"),
    Mutant("variants.c", "ledbat_remember(ca->delay->history, sample_us);", ";"),
    Mutant("variants.c", "tcp_snd_cwnd(tcp_sk(sk)) / 2;", "tcp_snd_cwnd(tcp_sk(sk));"),
    Mutant("variants.c", "ca->slow_start && tcp_in_slow_start(tp) &&", "ca->slow_start &&"),
    Mutant("variants.c", "queuing_us > ca->target_us / 4 * 3", "queuing_us > ca->target_us"),
    Mutant("variants.c", "tcp_snd_cwnd_set(tp, ledbat_halved(tcp_snd_cwnd(tp), ca->min_window));", ";"),
    Mutant("variants.c", "ca->halved = 1;", ";"),
    Mutant("variants.c", "ca->halved = 0;", ";"),
    Mutant("variants.c", "ca->halved && !ledbat_round_over", "ca->halved && ledbat_round_over"),
    Mutant("variants.c", "if (tp->is_cwnd_limited) return;", ";"),
    Mutant("variants.c", "tcp_packets_in_flight(tp) + acked + ca->step", "tcp_packets_in_flight(tp) + acked"),
    Mutant("variants.c", "tcp_snd_cwnd_set(tp, allowed); ca->credit_us = 0;", "tcp_snd_cwnd_set(tp, allowed);"),
    # ledbatpp.c
    Mutant("ledbatpp.c", "ledbat_init_from_round_trips(sk);", "ledbat_init(sk);"),
    Mutant("ledbatpp.c", "ledbat_start_small(sk);", ";"),
    Mutant("ledbatpp.c", "max_t(u32, tcp_snd_cwnd(tp), LEDBATPP_SLOW_CWND)", "LEDBATPP_SLOW_CWND"),
    Mutant("ledbatpp.c", "ca->slow_us = 0;", ";"),
    Mutant("ledbatpp.c", "2 * (tp->srtt_us >> 3)", "200 * (tp->srtt_us >> 3)"),
    Mutant("ledbatpp.c", "ca->round_end = tp->snd_nxt;", ";"),
    Mutant("ledbatpp.c", "ca->round_start_us = tp->tcp_mstamp;", ";"),
    Mutant("ledbatpp.c", "!tcp_in_slow_start(tp) && !--ca->rounds", "!--ca->rounds"),
    Mutant("ledbatpp.c", "ledbat_uses_window(tp, acked)) ledbatpp_add_time(sk);", "true) ledbatpp_add_time(sk);"),
    Mutant("ledbatpp.c", "!--ca->rounds) ledbatpp_slow_down(sk);", "true) ledbatpp_slow_down(sk);"),
    Mutant("ledbatpp.c", "!--ca->rounds) ledbatpp_enter(sk", "true) ledbatpp_enter(sk"),
    Mutant("ledbatpp.c", "tp->tcp_mstamp >= ca->next_slow_us", "true"),
    Mutant("ledbatpp.c", "!tcp_in_slow_start(tp)) ledbatpp_slow_down(sk);", "true) ledbatpp_slow_down(sk);"),
    Mutant("ledbatpp.c", "queuing_us > ca->target_us / 4 * 3", "queuing_us > ca->target_us"),
    Mutant("ledbatpp.c", "(u64)LEDBATPP_PAUSE * max", "(u64)(LEDBATPP_PAUSE - 4) * max"),
    Mutant("ledbatpp.c", "max(ca->slow_us, least_us)", "ca->slow_us"),
    Mutant("ledbatpp.c", "ca->phase != LEDBATPP_SLOW", "true"),
    Mutant("ledbatpp.c", "tcp_sk(sk)->snd_ssthresh / 2,", "tcp_sk(sk)->snd_ssthresh,"),
    Mutant("ledbatpp.c", "ca->credit_us = 0;", ";"),
    Mutant("ledbatpp.c", "tcp_snd_cwnd_set(tp, LEDBATPP_SLOW_CWND);", ";"),
    Mutant("ledbatpp.c", "queuing_us > ca->target_us && !slow_start", "queuing_us > ca->target_us"),
    Mutant("ledbatpp.c", "if (round_over) { window", "if (true) { window"),
    Mutant("ledbatpp.c", "ledbat_set_threshold(sk, tcp_snd_cwnd(tp)); }", "; }"),
    Mutant("ledbatpp.c", "else if (ledbat_uses_window(tp, acked))", "else"),
    Mutant("ledbatpp.c", "step_us *= tcp_snd_cwnd(tp);", ";"),
    Mutant("ledbatpp.c", "div_u64(step_us * acked, divisor)", "step_us * acked"),
    # settings.c
    Mutant("settings.c", "variant->standard && ledbat_setting[setting].standard", "false"),
    Mutant("settings.c", "variant->mask & BIT(i) && !strcmp", "!strcmp"),
    Mutant("settings.c", "value < ledbat_setting[i].low", "false"),
    Mutant("settings.c", "value > high", "false"),
    Mutant("settings.c", "variant->defaults.value[i] = value;", ";"),
)

_FUNCTION: Final = re.compile(
    r"^(?P<head>\w[^;{}#=]*\b(?P<name>\w+)\((?P<parameters>[^{}]*)\))\n\{\n.*?^\}\n", re.M | re.S
)


def write(folder: Path) -> None:
    """Write the module's tests with all mutants."""
    shutil.copytree(SOURCES, folder, ignore=shutil.ignore_patterns("debian"))
    for name in dict.fromkeys(mutant.file for mutant in MUTANTS):
        file = folder / name
        numbered = [(number, mutant) for number, mutant in enumerate(MUTANTS) if mutant.file == name]
        file.write_text(_with_mutants(file.read_text(), numbered))
    for test in (ARITHMETIC_TEST, SOCKET_TEST):
        file = folder / f"{test}.c"
        file.write_text(PARAMETER + file.read_text())
    kbuild = (folder / "Kbuild").read_text().replace("obj-m := tcp_ledbat.o\n", "obj-m :=\n")
    (folder / "Kbuild").write_text(f"{kbuild}ccflags-y += -w\n")


def _with_mutants(text: str, numbered: Iterable[tuple[int, Mutant]]) -> str:
    """The text of a file in which functions have copies for their mutants."""
    functions = list(_FUNCTION.finditer(text))
    copies: dict[int, list[tuple[int, str]]] = {}
    for number, mutant in numbered:
        pattern = re.compile(r"\s+".join(re.escape(word) for word in mutant.old.split(" ")))
        places = [(index, place) for index, function in enumerate(functions) for place in pattern.finditer(function[0])]
        if len(places) != 1:
            raise SystemExit(f"{mutant.file}: found {mutant.old!r} in {len(places)} places; allowed: 1")
        [(index, place)] = places
        whole = functions[index][0]
        copies.setdefault(index, []).append((number, whole[: place.start()] + mutant.new + whole[place.end() :]))
    for index in sorted(copies, reverse=True):
        function = functions[index]
        text = text[: function.start()] + _switch(function, copies[index]) + text[function.end() :]
    return text


def _switch(function: re.Match[str], copies: Iterable[tuple[int, str]]) -> str:
    """A function behind its copies, whose bodies stand first; it calls the one that is in force."""
    name, head = function["name"], function["head"]
    words = ", ".join(re.findall(r"\w+", parameter)[-1] for parameter in function["parameters"].split(","))
    before, calls = "", ""
    for number, copy in copies:
        own = f"{name}_mutant{number}"
        before += copy.replace(f"{name}(", f"{own}(", 1)
        calls += f"\tif (mutant == {number})\n\t\treturn {own}({words});\n"
    return before + head + "\n{\n" + calls + function[0][len(head) + len("\n{\n") :]


def compiled(folder: Path) -> None:
    """Compile what was written, for the debug kernel."""
    store = Store(default_root())
    root = BuildRoot(store, print)
    built = kernel.build(store, print, root, index.DEBUG)
    command = module.compiling("/seen/tree", "/build", "ARCH=um")
    see = {"/seen/tree": built.tree}
    root.run(command, folder / "log", "Compiling mutants", work=folder, see=see, environment=REPRODUCIBLE)


def results(folder: Path) -> dict[int, dict[str, str]]:
    """What became of each mutant's cases: none where the guest crashed."""
    wanted: Wanted = [(UNCHANGED, (ARITHMETIC_TEST, SOCKET_TEST))]
    for number, mutant in enumerate(MUTANTS):
        tests = (ARITHMETIC_TEST, SOCKET_TEST) if mutant.file.endswith(".h") else (SOCKET_TEST,)
        wanted.append((number, tests))
    by_mutant: dict[int, dict[str, str]] = {}
    while left := [(number, tests) for number, tests in wanted if number not in by_mutant][:AT_ONCE]:
        said = _guest(folder, left)
        by_mutant |= {number: kunit.cases(said[str(number)]) for number, _ in left if str(number) in said}
        if not said:  # the guest was fresh
            by_mutant[left[0][0]] = {}
    return by_mutant


def _guest(folder: Path, wanted: Wanted) -> dict[str, str]:
    """Load the tests of some mutants in one guest; what the kernel said, by number, as far as it came."""
    with tempfile.TemporaryDirectory() as scratch, handover.scratch("mutants") as out, free_cpu() as cpu:
        code = Path(scratch) / "code"
        for package in ("engine", "topologies"):
            shutil.copytree(images.PROJECT / package, code / package, ignore=shutil.ignore_patterns("__pycache__"))
        for test in (ARITHMETIC_TEST, SOCKET_TEST):
            shutil.copy(folder / f"{test}.ko", out)
        (out / "wanted.json").write_text(
            json.dumps([(number, [f"{test}.ko" for test in tests]) for number, tests in wanted])
        )
        shutil.copy(Path(__file__).with_name(f"{PROGRAM}.py"), code / "engine" / "guest")
        (out / "logs").mkdir()
        project, images.PROJECT = images.PROJECT, code
        boot = images.load(index.DEBUG)
        arguments = [*launch.boot_arguments(boot, 1, f"engine.guest.{PROGRAM}"), *kunit.SWITCHED_ON]
        command = launch.command(boot, out, cpu, arguments, kunit.LIMITS)
        images.PROJECT = project
        try:
            watch.run(command, out, kunit.LIMITS)
        except EngineError as error:
            print(error, file=sys.stderr)
        said = out / "logs" / "mutants.json"
        return dict(json.loads(said.read_text())) if said.exists() else {}


def main() -> int:
    """Print the table; 0 if enough are killed."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "mutants"
        write(folder)
        compiled(folder)
        by_mutant = results(folder)
    passed = set(by_mutant[UNCHANGED].values()) == {"passed"}
    print(f"without a change: {len(by_mutant[UNCHANGED])} cases, {'all passed' if passed else 'NOT all passed'}")
    killed = 0
    for number, mutant in enumerate(MUTANTS):
        failed = [name for name, result in by_mutant[number].items() if result == "failed"]
        killed += bool(failed) or not by_mutant[number]
        says = ", ".join(failed[:3]) if failed else "ALIVE" if by_mutant[number] else "the guest crashed"
        print(f"{mutant.file}: {mutant.old} -> {mutant.new}: {says}")
    print(f"{killed} of {len(MUTANTS)} mutants killed")
    return 0 if passed and killed >= ENOUGH * len(MUTANTS) else 1


if __name__ == "__main__":
    sys.exit(main())
