"""`python -m testbed`: the command `testbed`, for processes that cannot know where it is installed."""

import sys

from testbed.cli import main

if __name__ == "__main__":
    sys.exit(main())
