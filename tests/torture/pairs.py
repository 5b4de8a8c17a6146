"""Start the same command twice at the same moment, over and over:

    python -m tests.torture.pairs --times 30

Each of the two does its work, or is refused in one line; one at least does it. They leave what one alone leaves.
"""

import argparse
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from tests.torture.campaign import Whole, difference, undisturbed
from tests.torture.faults import Ended, run
from tests.torture.jobs import ENVIRONMENT, JOBS, Job, make_inputs, prepare

REFUSED = ("another process", "exists already", "it holds this very run already", "add --resume")
APART = (0.0, 0.0, 0.002, 0.01, 0.05, 0.2)  # seconds between the two


def pair(job: Job, inputs: Path, folder: Path, apart: float, whole: Whole) -> str | None:
    """What is wrong with what two of them did, if anything is."""
    prepare(job, inputs, folder)

    def start(later: float) -> Ended:
        time.sleep(later)
        return run(list(job.words), folder)

    with ThreadPoolExecutor(2) as threads:
        ended = list(threads.map(start, (0.0, apart)))
    return wrong_ends(ended) or difference(job.digest(folder), whole.digest)


def wrong_ends(ended: list[Ended]) -> str | None:
    for one in ended:
        refused = one.code == 2 and any(words in one.said for words in REFUSED)
        if "Traceback" in one.said or (one.code and not refused):
            return f"exit {one.code}: {one.said}"
    return None if any(one.code == 0 for one in ended) else f"neither did it: {[one.said for one in ended]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=30, help="pairs of each job")
    parser.add_argument("--job", choices=[job.name for job in JOBS], help="only this one")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    os.environ.update(ENVIRONMENT)
    rng, stories = np.random.default_rng(given.seed), []
    for job in [job for job in JOBS if given.job in (None, job.name)]:
        with tempfile.TemporaryDirectory(prefix="ropeval-pairs-") as name:
            inputs = Path(name) / "inputs"
            inputs.mkdir()
            make_inputs(inputs)
            whole = undisturbed(job, inputs, Path(name))
            for number in range(given.times):
                wrong = pair(job, inputs, Path(name) / str(number), float(rng.choice(APART)), whole)
                if wrong:
                    stories.append(f"{job.name}: {wrong}")
                    print(f"WRONG {stories[-1]}", flush=True)
        print(f"{given.times:7,}  pairs of {job.name}", flush=True)
    print(f"{len(stories)} pairs went wrong")
    return 1 if stories else 0


if __name__ == "__main__":
    sys.exit(main())
