"""Threads that make calls, start processes and get signals, all at once."""

import os
import signal
import subprocess
import threading

THREADS, ROUNDS = 16, 300
STARTERS, CHILDREN = 4, 25

lock = threading.Lock()
done = {"rounds": 0, "children": 0, "signals": 0}


def note(what: str) -> None:
    with lock:
        done[what] += 1


def on_signal(number: int, frame: object) -> None:
    done["signals"] += 1


def to_itself() -> None:
    read, write = os.pipe()
    for index in range(ROUNDS):
        os.write(write, index.to_bytes(2, "big"))
        if int.from_bytes(os.read(read, 2), "big") == index:
            note("rounds")


def starts_processes() -> None:
    for _ in range(CHILDREN):
        if subprocess.run(["/bin/echo", "here"], stdout=subprocess.PIPE, check=True).stdout == b"here\n":
            note("children")


signal.signal(signal.SIGALRM, on_signal)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
threads = [threading.Thread(target=to_itself) for _ in range(THREADS)]
threads += [threading.Thread(target=starts_processes) for _ in range(STARTERS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
signal.setitimer(signal.ITIMER_REAL, 0)
wanted = {"rounds": THREADS * ROUNDS, "children": STARTERS * CHILDREN, "signals": done["signals"]}
print("python", "ok" if done == wanted and done["signals"] > 0 else f"WRONG {done}", done["signals"])
