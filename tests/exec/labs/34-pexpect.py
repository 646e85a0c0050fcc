#!/usr/bin/env python3
"""Drives Mininet's command line as a grader does, by pexpect."""

import re
import sys

import pexpect

PROMPT = "mininet> "
mn = pexpect.spawn("sudo mn --topo linear,3 --link tc,bw=10,delay=2ms", encoding="utf-8", timeout=60)
mn.expect(PROMPT)
mn.sendline("nodes")
mn.expect(PROMPT)
print("nodes:", sum(word.startswith("h") for word in mn.before.split()), "hosts")
mn.sendline("pingall")
mn.expect(r"(\d+)% dropped")
print("pingall: %s%% dropped" % mn.match.group(1))
mn.expect(PROMPT)
mn.sendline("h1 ping -c 3 h3")
mn.expect(PROMPT)
print("rtt min:", re.search(r"= ([\d.]+)/", mn.before).group(1), "ms")
mn.sendline("link s2 s3 down")
mn.expect(PROMPT)
mn.sendline("h1 ping -c 1 -W 1 h3")
mn.expect(r"(\d+)% packet loss")
print("after the cut: %s%% packet loss" % mn.match.group(1))
mn.expect(PROMPT)
mn.sendline("py h1.IP()")
mn.expect(PROMPT)
print("h1 is", mn.before.split("\n")[1].strip())
mn.sendline("exit")
mn.expect(pexpect.EOF)
sys.exit(mn.wait())
