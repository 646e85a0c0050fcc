"""`make bench`."""

import sys

from engine.bench.measure import main

if __name__ == "__main__":
    sys.exit(main())
