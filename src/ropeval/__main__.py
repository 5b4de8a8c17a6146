"""`python -m ropeval`, and the command `ropeval`."""

import sys

from ropeval.interrupts import heeded


def main() -> None:
    try:
        with heeded():
            from ropeval.cli.main import main as run  # takes seconds, in which people change their minds, too

            run()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
