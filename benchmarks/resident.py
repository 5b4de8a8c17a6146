"""What a process holds in memory: the most it ever held, and of what kind that was.

What the system tells of a process that is over, `ru_maxrss`, is of no use here: a process that is started begins with
the largest resident set of the one that started it, which has just made a log of 20 million rows. So it is looked at
while it runs. Pages of files (libraries, mapped logs) are the machine's, which takes them back when it needs them.
"""

import threading
from pathlib import Path

EVERY = 0.25  # seconds between two looks
KINDS = {"RssAnon": "own", "RssFile": "files", "RssShmem": "shared"}
MOST = "VmHWM"  # since it began: nothing between two looks is missed


class Watch:
    """Of one process, from now until `peak` is asked for. Linux only: elsewhere all is zero."""

    def __init__(self, pid: int) -> None:
        self._status, self._most, self._kinds = Path(f"/proc/{pid}/status"), 0.0, dict.fromkeys(KINDS.values(), 0.0)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def peak(self) -> dict[str, float | dict[str, float]]:
        """GB: the most, and of each kind when a look found most of all together."""
        self._over.set()
        self._thread.join()
        return {"peak_gb": self._most, "held_gb": self._kinds}

    def _watch(self) -> None:
        while not self._over.wait(EVERY):
            try:
                lines = dict(line.split(":", 1) for line in self._status.read_text().splitlines())
                found = {name: round(int(lines[name].split()[0]) * 1024 / 1e9, 3) for name in (*KINDS, MOST)}
            except (OSError, KeyError):  # it is over, or this is not Linux
                return
            self._most = found[MOST]
            self._kinds = max(self._kinds, {kind: found[name] for name, kind in KINDS.items()}, key=_together)


def _together(kinds: dict[str, float]) -> float:
    return sum(kinds.values())
