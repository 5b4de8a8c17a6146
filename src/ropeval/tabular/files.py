"""Reading a user's MDP from a .npz file, and writing results so that no file is ever half there."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ropeval.errors import UserError
from ropeval.files import UNREADABLE
from ropeval.tabular.mdp import Array, TabularMDP, discount

REQUIRED = ("P", "r", "d0", "gamma")


def load_npz(path: str | Path) -> tuple[TabularMDP, dict[str, Array]]:
    """The MDP and the policies `pi_e` (required) and `pi_b` (uniform where absent)."""
    path = Path(path)
    fields = _read(path)
    missing = [name for name in (*REQUIRED, "pi_e") if name not in fields]
    if missing:
        held = ", ".join(sorted(fields)) or "nothing"
        raise UserError(f"{path}: missing {', '.join(missing)}; the file holds {held}")
    try:
        gamma = discount(fields["gamma"])
        mdp = TabularMDP(fields["P"], fields["r"], fields["d0"], gamma, fields.get("terminal"))
        policies = {"pi_e": mdp.policy(fields["pi_e"], "pi_e")}
        policies["pi_b"] = mdp.policy(fields["pi_b"], "pi_b") if "pi_b" in fields else mdp.uniform_policy()
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    return mdp, policies


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise UserError(f"{path}: {what}; give a .npz file made by numpy.savez")
    try:
        loaded = np.load(path, allow_pickle=False)
        if not isinstance(loaded, np.lib.npyio.NpzFile):
            raise UserError(f"{path}: one array, not an archive; write it with numpy.savez(file, P=…, r=…)")
        with loaded as archive:
            return {name: archive[name] for name in archive.files}
    except UserError:
        raise
    except UNREADABLE as error:
        raise UserError(f"{path}: cannot be read as .npz, is it cut short? ({error})") from error


def folder(out: str | Path) -> Path:
    """The output folder, made where it is missing."""
    path = Path(out)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"--out {path}: cannot be made a folder ({error.strerror}); choose another") from error
    if not os.access(path, os.W_OK):
        raise UserError(f"--out {path}: not writable; choose another folder")
    return path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary name to write to; it takes the place of `path` only when the writing is done."""
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror or error})") from error
    finally:
        temporary.unlink(missing_ok=True)
