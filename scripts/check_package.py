"""Builds wheel and sdist, installs each into an empty environment of every Python at hand, and runs the demo there.

python scripts/check_package.py [--python PATH …] [--members 1]

Takes minutes for each Python. `--python` names interpreters; otherwise those of `python3.11` … `python3.13` that run.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSIONS = ("3.11", "3.12", "3.13")
NEEDED = ("report.html", "result.json", "trust.json")


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return done.stdout


def at_hand() -> list[str]:
    """The interpreters that are there and start: a name on the path may be an empty promise."""
    found = [path for version in VERSIONS if (path := shutil.which(f"python{version}"))]
    return [path for path in found if subprocess.run([path, "-c", ""], capture_output=True).returncode == 0]


def build(folder: Path) -> list[Path]:
    run(sys.executable, "-m", "build", "--outdir", folder)
    wheel, sdist = next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))
    return [wheel, sdist]


def check(python: str, package: Path, members: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(python, "-m", "venv", folder / "venv")
        bin_folder = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
        run(bin_folder / "python", "-m", "pip", "install", "--quiet", package)
        version = run(bin_folder / "ropeval", "--version", cwd=folder).strip()
        run(bin_folder / "ropeval", "demo", "--members", str(members), "--out", "demo", cwd=folder)
        missing = [file for file in NEEDED if not (folder / "demo" / file).is_file()]
        if missing:
            sys.exit(f"{package.name}: the demo wrote no {', '.join(missing)}")
        print(f"{run(python, '--version').strip()}: {package.name}, {version}: installs, and the demo runs", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", help="an interpreter; repeatable")
    parser.add_argument("--members", type=int, default=1, help="of the demo")
    given = parser.parse_args(arguments)
    pythons = given.python or at_hand()
    if not pythons:
        sys.exit(f"none of Python {', '.join(VERSIONS)} is at hand; name one with --python")
    with tempfile.TemporaryDirectory() as folder:
        for package in build(Path(folder)):
            for python in pythons:
                check(python, package, given.members)


if __name__ == "__main__":
    main()
