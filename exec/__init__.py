"""Runs any script that uses Mininet in a guest, in virtual time: `testbed exec` and `testbed mn`.

The script's side in the guest is `engine.guest.exec_script`, since what runs there is one tree of code. Kernel and root
file system are the lab's, which `python -m images --lab` builds as it builds those of experiments.
"""
