"""Write docs/results/reproduction: the paper's table beside ours, the numbers behind each claim, picture, seconds.

    python -m benchmarks.reproduction
    python -m benchmarks.reproduction --study STUDY [STUDY…] --out FOLDER

Reads the rows in benchmarks/paper and trains nothing; run it from the repository's root.
"""

import argparse
from pathlib import Path

from benchmarks.program import run
from benchmarks.reproduction.cells import cells_page
from benchmarks.reproduction.claims import claims_page
from benchmarks.reproduction.evidence import gather
from benchmarks.reproduction.headline import draw_headline
from benchmarks.reproduction.seeds import seeds_page
from benchmarks.reproduction.values import timings_page, values_page

from ropeval.files import write_text

ROOT = Path(__file__).resolve().parents[2]
PAPER = ROOT / "benchmarks" / "paper"
# Where a run stands in two of them, the first counts.
STUDIES = ("study", "study-20-seeds", "study-first-log", "study-one-cell")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--study", type=Path, nargs="+", default=[PAPER / folder for folder in STUDIES])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results" / "reproduction")
    options = parser.parse_args()
    evidence = gather(options.study, PAPER / "published.toml")
    pages = {
        "cells.md": cells_page(evidence),
        "claims.md": claims_page(evidence),
        "values.md": values_page(evidence, PAPER / "independent.toml"),
        "timings.md": timings_page(evidence),
        "seeds.md": seeds_page(evidence),
    }
    for name, words in pages.items():
        write_text(options.out / name, words)
    drawn = draw_headline(evidence, options.out)
    print("\n".join(str(path) for path in [*(options.out / name for name in pages), *drawn]))


if __name__ == "__main__":
    run(main)
