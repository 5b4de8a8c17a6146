"""What a process holds in memory, by kind: its own, pages of files (libraries, mapped logs), shared.

The system tells the largest resident set of a process that is over, in one number. Pages of files are the machine's,
which takes them back when it needs them; so the process is looked at while it runs, and the largest of it is kept.
"""

import threading
from pathlib import Path

EVERY = 0.25  # seconds between two looks
KINDS = {"RssAnon": "own", "RssFile": "files", "RssShmem": "shared"}


class Watch:
    """Of one process, from now until `peak` is asked for. Linux only: elsewhere nothing is known."""

    def __init__(self, pid: int) -> None:
        self._status, self._peak = Path(f"/proc/{pid}/status"), dict.fromkeys(KINDS.values(), 0.0)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def peak(self) -> dict[str, float]:
        """GB of each kind at the moment when they were most together."""
        self._over.set()
        self._thread.join()
        return self._peak

    def _watch(self) -> None:
        while not self._over.wait(EVERY):
            try:
                self._peak = max(self._peak, self._now(), key=lambda kinds: sum(kinds.values()))
            except (OSError, KeyError):  # it is gone, or this is not Linux
                return

    def _now(self) -> dict[str, float]:
        lines = dict(line.split(":", 1) for line in self._status.read_text().splitlines())
        return {name: round(int(lines[kind].split()[0]) * 1024 / 1e9, 3) for kind, name in KINDS.items()}
