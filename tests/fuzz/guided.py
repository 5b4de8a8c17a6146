"""Fuzz the readers that are written in Python, guided by what they cover: needs `pip install atheris`.

    python -m tests.fuzz.guided --seconds 60 --out fuzz-crashers [NAME …]

Each begins with its good file and with others that were damaged by their grammar. What these cover is what `make fuzz`
reaches; what is covered in the end, beyond that, is what guidance adds. A file that breaks a promise is kept in --out.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

# Not those of libhdf5, polars and ONNX, whose code is not seen by Atheris.
NAMES = ("words", "config", "study", "truth", "result", "log.npz", "npz", "log.csv", "deep_ope2", "statistics", "ppo")
START = 2000  # files damaged by their grammar
LARGEST = 1 << 16  # bytes of a file: longer ones take time and say nothing new
COVERED = re.compile(r"#(\d+)\s+(INITED|DONE)\s+cov: (\d+)")


class Reached(NamedTuple):
    files: int
    covered: int  # branches and calls in ropeval


def reached(said: str) -> tuple[Reached, Reached]:
    """By grammar alone and in the end, from what libFuzzer says."""
    found = {when: Reached(int(files), int(covered)) for files, when, covered in COVERED.findall(said)}
    return found["INITED"], found.get("DONE", found["INITED"])


def fuzz(name: str, folder: Path, seconds: int, seed: int, out: Path) -> None:
    """One reader, until the time is over, which ends the process."""
    import atheris  # type: ignore[import-not-found, import-untyped, unused-ignore]

    with atheris.instrument_imports(include=["ropeval"]):
        from tests.fuzz.mutate import mutate
        from tests.fuzz.seeds import make_seeds
        from tests.fuzz.worker import read_guarded

        seeds = {one.name: one for one in make_seeds(folder)}
    chosen = seeds[name]
    victim, good = next(iter(chosen.files.items()))
    others = [content for one in seeds.values() for content in one.files.values()]
    place = folder / "good" / name

    def read_one(damaged: bytes) -> None:
        (place / victim).write_bytes(damaged)
        _, wrong = read_guarded(chosen, place if chosen.is_folder else place / victim)
        if wrong:
            raise RuntimeError(wrong)

    def damage(content: bytes, most: int, number: int) -> bytes:
        """By the grammar half of the time, else as libFuzzer does."""
        by_grammar = mutate(content, np.random.default_rng(number), others) if number % 2 else None
        return bytes(atheris.Mutate(content, most)) if by_grammar is None else by_grammar[:most]

    corpus = folder / "corpus"
    corpus.mkdir()
    (corpus / "good").write_bytes(good)
    for number in range(START):
        (corpus / str(number)).write_bytes(mutate(good, np.random.default_rng([seed, number]), others)[:LARGEST])
    options = [f"-max_total_time={seconds}", f"-seed={seed}", f"-max_len={LARGEST}", f"-artifact_prefix={out}/{name}-"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], read_one, custom_mutator=damage)
    atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=NAMES, help="of good files, as `make fuzz` lists them")
    parser.add_argument("--seconds", type=int, default=60, help="for each")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("fuzz-crashers"))
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)  # of one that is fuzzed in a process of its own
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    if given.folder:
        fuzz(given.names[0], given.folder, given.seconds, given.seed, given.out)
    wrong = 0
    for name in given.names:
        with tempfile.TemporaryDirectory(prefix="ropeval-guided-") as folder:
            how = [f"--{key}={getattr(given, key)}" for key in ("seconds", "seed", "out")]
            command = [sys.executable, "-m", "tests.fuzz.guided", name, "--folder", folder, *how]
            done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        wrong += done.returncode != 0
        if "INITED" not in done.stderr:
            print(done.stderr[-2000:])
            continue
        grammar, end = reached(done.stderr)
        print(f"{name}: {grammar.covered} covered by grammar, {end.covered} after {end.files:,} files", flush=True)
        if done.returncode:
            print(done.stderr[-3000:], flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
