"""Loads the test module, whose cases run as it is loaded, and leaves what the kernel printed."""

import subprocess

if __name__ == "__main__":
    subprocess.run(["insmod", "/opt/modules/tcp_ledbat_test.ko"], check=True)
    with open("/results/logs/kernel.log", "w") as log:
        subprocess.run(["dmesg", "--notime"], stdout=log, check=True)
