"""A user's MDP in a .npz file, and the folder that results go to."""

import os
from pathlib import Path

from ropeval.errors import UserError
from ropeval.files import read_npz
from ropeval.tabular.mdp import Array, TabularMDP, discount

REQUIRED = ("P", "r", "d0", "gamma")


def load_npz(path: str | Path) -> tuple[TabularMDP, dict[str, Array]]:
    """The MDP and the policies `pi_e` (required) and `pi_b` (uniform where absent)."""
    path = Path(path)
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise UserError(f"{path}: {what}; give a .npz file made by numpy.savez")
    fields = read_npz(path)
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
