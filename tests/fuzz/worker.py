"""Damage and read files, one after the other; stop at the first that is neither read nor refused.

    python -m tests.fuzz.worker FOLDER SEED START COUNT SECONDS

Prints every thousand files how they went, as a line of JSON, and exits with 3 where the last one broke a promise. A
file that kills the process or hangs inside C code ends it with another code. Either way FOLDER/current names the file's
number and the folder under FOLDER/good that still holds it.
"""

import collections
import faulthandler
import gc
import json
import os
import sys
import time
import traceback
import warnings
from pathlib import Path

import numpy as np

from ropeval.errors import UserError
from tests.fuzz.campaign import CURRENT
from tests.fuzz.guard import MAX_SECONDS, Broken, guarded
from tests.fuzz.mutate import mutate
from tests.fuzz.seeds import Seed, make_seeds

BROKEN = 3
REPORT_EVERY = 1000  # files
HANGS = 6 * MAX_SECONDS  # without working: inside C code that the guard cannot interrupt


def main(folder: Path, seed: int, start: int, count: int, seconds: float) -> int:
    warnings.simplefilter("ignore")
    warnings.filterwarnings("error", category=RuntimeWarning, module="ropeval")  # arithmetic on what was not checked
    seeds = make_seeds(folder)
    others = [content for s in seeds for content in s.files.values()]
    gc.freeze()  # what was imported is not looked through again at every collection
    current = os.open(folder / CURRENT, os.O_WRONLY | os.O_CREAT)
    outcomes: collections.Counter[str] = collections.Counter()
    began, watched, number, wrong = time.monotonic(), -np.inf, start, None
    while number < start + count and time.monotonic() - began < seconds and wrong is None:
        if time.monotonic() - watched > HANGS:  # a thread each time: dear, so one watch is for many files
            watched = time.monotonic()
            faulthandler.dump_traceback_later(2 * HANGS, exit=True)
        rng = np.random.default_rng([seed, number])
        chosen = seeds[int(rng.integers(len(seeds)))]
        os.pwrite(current, f"{number} {chosen.name}".ljust(80).encode(), 0)
        outcome, wrong = attempt(chosen, others, folder / "good" / chosen.name, rng)
        outcomes[outcome] += 1
        number += 1
        if outcomes.total() == REPORT_EVERY:
            _report(number, outcomes)
            outcomes.clear()
    _report(number, outcomes, wrong and f"file {number - 1}: {wrong}")
    return 0 if wrong is None else BROKEN


def _report(number: int, outcomes: collections.Counter[str], wrong: str | None = None) -> None:
    print(json.dumps({"next": number, "outcomes": outcomes, "wrong": wrong}), flush=True)


def attempt(chosen: Seed, others: list[bytes], place: Path, rng: np.random.Generator) -> tuple[str, str | None]:
    """Damage one file in its place: what became of it, and what is wrong with that, if anything is. Where nothing is,
    the good file is put back."""
    victim = list(chosen.files)[int(rng.integers(len(chosen.files)))]
    path, good = place / victim, chosen.files[victim]
    path.write_bytes(mutate(good, rng, others))
    outcome, wrong = read_guarded(chosen, place if chosen.is_folder else path)
    if wrong is None:
        path.write_bytes(good)
    return f"{chosen.name}: {outcome}", wrong


def read_guarded(chosen: Seed, place: Path) -> tuple[str, str | None]:
    """Whether a file or folder was read, refused or neither, and what is wrong with that."""
    try:
        with guarded():
            chosen.read(place)
    except UserError as error:
        said = str(error)
        short = "\n" not in said and len(said) <= 1500
        return "refused", None if short else f"a message of {len(said)} characters: {said[:300]}"
    except (Exception, Broken) as error:
        return "broken", "".join(traceback.format_exception(error)[-6:])
    return "read", None


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5])))
