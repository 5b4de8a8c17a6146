"""Where training left off: written after each chunk, whole or not at all."""

import json
import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ropeval.arrays import AnyArray, Booleans, Integers, Singles
from ropeval.errors import UserError
from ropeval.files import read_npz, write_atomically


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Everything that the training loop carries from chunk to chunk."""

    state: Any
    step: int
    curves: dict[str, Singles]  # each [chunks so far, M]
    diverged_at: Integers  # [M]

    def extended(self, state: Any, step: int, seen: dict[str, Singles], diverged: Booleans) -> "Snapshot":
        curves = {
            name: np.concatenate([self.curves[name], values[None]]) if name in self.curves else values[None]
            for name, values in seen.items()
        }
        newly = diverged & (self.diverged_at < 0)
        return Snapshot(state, step, curves, np.where(newly, step, self.diverged_at))


@dataclass(frozen=True)
class Checkpoint:
    """One file per stage in `folder`. `fingerprint` says what is being trained: another one's file is not used."""

    folder: Path
    fingerprint: str
    began: float = field(default_factory=time.monotonic, compare=False)  # this attempt at the run

    def under(self, name: str) -> "Checkpoint":
        """One in a folder of its own, for a part of the run that goes by this name."""
        return replace(self, folder=self.folder / name, fingerprint=f"{self.fingerprint} {name}")

    @property
    def seconds(self) -> float:
        """That the run has taken so far: this attempt, and earlier ones up to what they saved last."""
        return self._earlier + time.monotonic() - self.began

    @cached_property
    def _earlier(self) -> float:
        # Every stage's file knows the whole run's seconds. Names that begin with a dot are files cut short.
        paths = [path for path in self.folder.glob("*.npz") if not path.name.startswith(".")]
        found = [_about(read_npz(path, ("about",))) for path in paths]
        return max((a.get("seconds", 0.0) for a in found if a["fingerprint"] == self.fingerprint), default=0.0)

    def save(self, stage: str, snapshot: Snapshot) -> None:
        leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(snapshot.state)]
        arrays: dict[str, Any] = {f"leaf{i}": leaf for i, leaf in enumerate(leaves)}
        arrays |= {f"curve_{name}": values for name, values in snapshot.curves.items()}
        arrays["diverged_at"] = snapshot.diverged_at
        about = {"fingerprint": self.fingerprint, "step": snapshot.step, "seconds": self.seconds}
        arrays["about"] = np.array(json.dumps(about))

        def write(path: Path) -> None:
            with path.open("wb") as file:
                np.savez(file, **arrays)

        write_atomically(self._path(stage), write)

    def load(self, stage: str, shapes: Any) -> Snapshot | None:
        """The last snapshot of this very run, or None. `shapes` is the tree that the state must fit."""
        path = self._path(stage)
        if not path.exists():
            return None
        arrays = read_npz(path)
        about = _about(arrays)
        if about["fingerprint"] != self.fingerprint:
            return None
        wanted, tree = jax.tree.flatten(shapes)
        leaves = [arrays.get(f"leaf{i}") for i in range(len(wanted))]
        for leaf, want in zip(leaves, wanted, strict=True):
            if leaf is None or leaf.shape != want.shape or leaf.dtype != want.dtype:
                raise UserError(f"{path}: this checkpoint does not fit the run; delete it to start anew")
        prefix = "curve_"
        return Snapshot(
            state=jax.tree.unflatten(tree, [jnp.asarray(leaf) for leaf in leaves]),
            step=int(about["step"]),
            curves={n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)},
            diverged_at=arrays["diverged_at"],
        )

    def _path(self, stage: str) -> Path:
        return self.folder / f"{stage}.npz"


def _about(arrays: dict[str, AnyArray]) -> dict[str, Any]:
    about: dict[str, Any] = json.loads(str(arrays["about"]))
    return about
