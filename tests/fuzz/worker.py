"""Damage and read files, one after the other; stop at the first that is neither read nor refused.

    python -m tests.fuzz.worker FOLDER SEED START COUNT SECONDS

Prints how many it did and how they went, as JSON, and exits with 3 where the last one broke a promise. A file that
kills the process or hangs inside C code ends it with another code. Either way FOLDER/current holds the file.
"""

import collections
import faulthandler
import json
import shutil
import sys
import time
import traceback
import warnings
from pathlib import Path

import numpy as np

from ropeval.errors import UserError
from tests.fuzz.guard import MAX_SECONDS, Broken, guarded
from tests.fuzz.mutate import mutate
from tests.fuzz.seeds import Seed, make_seeds

BROKEN = 3
HANGS = 6 * MAX_SECONDS  # without working: inside C code that the guard cannot interrupt


def main(folder: Path, seed: int, start: int, count: int, seconds: float) -> int:
    warnings.simplefilter("ignore")
    warnings.filterwarnings("error", category=RuntimeWarning, module="ropeval")  # arithmetic on what was not checked
    seeds = make_seeds(folder)
    others = [content for s in seeds for content in s.files.values()]
    outcomes: collections.Counter[str] = collections.Counter()
    began, number, wrong = time.monotonic(), start, None
    while number < start + count and time.monotonic() - began < seconds and wrong is None:
        (folder / "number").write_text(str(number))
        outcome, wrong = attempt(seeds, others, folder / "current", seed, number)
        outcomes[outcome] += 1
        number += 1
    print(json.dumps({"next": number, "outcomes": outcomes, "wrong": wrong, "seconds": time.process_time()}))
    return 0 if wrong is None else BROKEN


def attempt(seeds: list[Seed], others: list[bytes], place: Path, seed: int, number: int) -> tuple[str, str | None]:
    """The `number`-th file of a campaign: what became of it, and what is wrong with that, if anything is."""
    rng = np.random.default_rng([seed, number])
    chosen = seeds[int(rng.integers(len(seeds)))]
    victim = list(chosen.files)[int(rng.integers(len(chosen.files)))]
    shutil.rmtree(place, ignore_errors=True)
    for name, content in chosen.files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(mutate(content, rng, others) if name == victim else content)
    faulthandler.dump_traceback_later(HANGS, exit=True)
    try:
        with guarded():
            chosen.read(place if chosen.is_folder else place / victim)
        return f"{chosen.name}: read", None
    except UserError as error:
        if "\n" in str(error) or len(str(error)) > 1500:
            return f"{chosen.name}: refused", f"a message of {len(str(error))} characters: {str(error)[:300]}"
        return f"{chosen.name}: refused", None
    except (Exception, Broken) as error:
        return f"{chosen.name}: broken", f"file {number}: " + "".join(traceback.format_exception(error)[-6:])
    finally:
        faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5])))
