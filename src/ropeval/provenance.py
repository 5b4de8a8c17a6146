"""Where numbers come from, the commit of the code that made them; and where one can read about them."""

import os
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path


@cache
def commit() -> str:
    """Of this very code, where it is a checkout; ROPEVAL_COMMIT where it was copied from one. "-dirty": with changes
    that were not committed."""
    if "ROPEVAL_COMMIT" in os.environ:
        return os.environ["ROPEVAL_COMMIT"]
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def documentation() -> str:
    """Where it is, as the package says; in a checkout that was never installed, the folder."""
    try:
        said = metadata("ropeval").get_all("Project-URL") or []
    except PackageNotFoundError:
        said = []
    return dict(line.split(", ", 1) for line in said).get("Documentation", "docs/README.md")
