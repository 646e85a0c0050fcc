"""Loads the test module, which runs its cases, and saves what the kernel printed."""

import subprocess

if __name__ == "__main__":
    subprocess.run(["insmod", "/opt/modules/tcp_ledbat_test.ko"], check=True)
    with open("/results/logs/kernel.log", "w") as log:
        subprocess.run(["dmesg", "--notime"], stdout=log, check=True)
