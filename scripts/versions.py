"""Do the oldest and the newest allowed versions pass the tests?

    python scripts/versions.py oldest newest

For each, a fresh environment is made, with every dependency of pyproject.toml at its lower bound (oldest), or as new as
allowed (newest), and the quick tests are run in it. Tools for developers are as new as they come. Extras that nothing
here tests, such as `train`, are left out: what they pull in is not resolved.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
QUICK = ["-q", "-m", "not training and not process and not browser", "-p", "no:cacheprovider"]
LOWER = re.compile(r"^(?P<name>[A-Za-z0-9_.\-]+)(?P<extras>\[[^\]]*\])?\s*>=\s*(?P<version>[0-9.]+)")


def dependencies(extra: str | None = None) -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    own = re.compile(rf"{project['name']}\[(.*)\]")  # an extra that names another one of ours: nothing to download
    found = list(extras[extra] if extra else project["dependencies"])
    named = [match[1] for match in map(own.fullmatch, found) if match]
    return [line for line in found if not own.fullmatch(line)] + [line for name in named for line in extras[name]]


def requirements(which: str) -> list[str]:
    """What to install beside ropeval itself."""
    core = dependencies()
    return [*(map(at_lower_bound, core) if which == "oldest" else core), *dependencies("dev")]


def at_lower_bound(requirement: str) -> str:
    """`jax>=0.7,<1` → `jax==0.7`"""
    found = LOWER.match(requirement)
    if found is None:
        raise SystemExit(f"pyproject.toml: {requirement!r} has no lower bound; every dependency needs one")
    return f"{found['name']}{found['extras'] or ''}=={found['version']}"


def check(which: str, folder: Path, tests: list[str], workers: int) -> bool:
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = str(folder / "bin" / "python")
    pip = [python, "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, *requirements(which)], check=True)
    subprocess.run([*pip, "--no-deps", "--editable", str(ROOT)], check=True)
    names = {at_lower_bound(bound).partition("==")[0] for bound in dependencies()}
    held = subprocess.run([python, "-m", "pip", "freeze"], capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    print(f"{which}: {', '.join(line for line in held if line.split('==')[0].lower() in names)}", flush=True)
    return subprocess.run([python, "-m", "pytest", "-n", str(workers), *QUICK, *tests], cwd=ROOT).returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", nargs="+", choices=["oldest", "newest"])
    parser.add_argument("--tests", nargs="*", default=[], help="only these files")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="make the environments here and leave them")
    given = parser.parse_args()
    wrong = []
    for which in given.which:
        with tempfile.TemporaryDirectory(prefix=f"ropeval-{which}-") as name:
            folder = given.keep / which if given.keep else Path(name) / "venv"
            if not check(which, folder, given.tests, given.workers):
                wrong.append(which)
    print("; ".join(f"{which}: {'failed' if which in wrong else 'passed'}" for which in given.which))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
