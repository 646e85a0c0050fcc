"""`make bench`."""

import sys

from engine import interrupt
from engine.bench.measure import main
from engine.errors import EngineError, printable

if __name__ == "__main__":
    try:
        with interrupt.terminable():
            sys.exit(main())
    except (EngineError, OSError) as error:
        print(printable(str(error)), file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt as interruption:
        print("interrupted; nothing is kept", file=sys.stderr)
        sys.exit(interrupt.status(interruption))
