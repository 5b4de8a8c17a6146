"""How the programs here end where their user can mend something: in one line and exit code 2, as `ropeval` does."""

import sys
from collections.abc import Callable

from ropeval.errors import UserError


def run(main: Callable[[], None]) -> None:
    try:
        main()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
