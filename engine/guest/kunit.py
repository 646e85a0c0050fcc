"""Loads the test modules, which run their cases, and saves what the kernel printed."""

import subprocess

MODULES = ("tcp_ledbat_test", "tcp_ledbat_research_test", "tcp_ledbat_research_socket_test")

if __name__ == "__main__":
    for module in MODULES:
        subprocess.run(["insmod", f"/opt/modules/{module}.ko"], check=True)
    with open("/results/logs/kernel.log", "w") as log:
        subprocess.run(["dmesg", "--notime"], stdout=log, check=True)
