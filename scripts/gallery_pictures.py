"""The pictures in which the pages of docs/gallery end: runs every page and draws the answer that it came to.

python scripts/gallery_pictures.py docs/gallery
"""

import contextlib
import os
import re
import shlex
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ropeval.cli.main import app
from ropeval.report.draw_paper import draw
from ropeval.report.run_page.outcome import read_outcome
from ropeval.report.run_page.values import values_chart
from ropeval.runtime import prepare

BLOCK = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```", re.DOTALL | re.MULTILINE)


def run_page(page: Path, run: Callable[[list[str]], None]) -> None:
    """A page as its reader would work through it, in the current folder; `run` takes the words of a command. The tests
    do the same."""
    session: dict[str, object] = {"__name__": "__page__"}
    for language, file, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if file:
            Path(file).write_text(text, encoding="utf-8")
        elif language == "python":
            exec(compile(text, str(page), "exec"), session)  # our own pages
        elif language == "sh":
            for line in text.splitlines():
                run(shlex.split(line, comments=True))


def picture(page: Path, images: Path) -> None:
    with tempfile.TemporaryDirectory() as empty, contextlib.chdir(empty):
        sys.path.insert(0, empty)
        run_page(page, lambda words: app(words[1:], standalone_mode=False))
        sys.path.remove(empty)
        for name in [n for n, m in sys.modules.items() if str(getattr(m, "__file__", "") or "").startswith(empty)]:
            del sys.modules[name]
        chart = replace(values_chart(read_outcome(Path("result"))), slug=page.stem)
        draw(chart, images, ["png"], f"docs/gallery/{page.name}, by scripts/gallery_pictures.py")


def main(folder: Path) -> None:
    prepare()
    (folder / "images").mkdir(exist_ok=True)
    for page in sorted(folder.glob(sys.argv[2] if len(sys.argv) > 2 else "*.md")):
        started = time.process_time()
        picture(page, folder / "images")
        print(f"{page.name}: {time.process_time() - started:.0f} s of one core")


if __name__ == "__main__":
    os.environ.setdefault("COLUMNS", "100")
    main(Path(sys.argv[1]).resolve())
