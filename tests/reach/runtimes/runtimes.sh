#!/bin/sh
# What each runtime says of itself, and what strace sees of one
python3 threads.py
java -Xmx64m Storm.java
node processes.js
UV_USE_IO_URING=1 node processes.js
strace -f -qq -o /tmp/trace -e trace=getppid python3 -c "import os; [os.getppid() for _ in range(1000)]"
[ "$(grep -c getppid /tmp/trace)" = 1000 ] && echo strace ok || echo strace WRONG
strace -f -c -o /tmp/counts python3 threads.py
