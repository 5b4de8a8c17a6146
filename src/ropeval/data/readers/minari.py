"""Minari datasets: a folder, or an id of the local cache. An episode holds T+1 observations and T of everything else.

Only h5py is needed to read them; to write them takes the package `minari`.
"""

import os
import re
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropeval.data.column_names import ACTION_NAMES, Mapped
from ropeval.data.dataset import Dataset
from ropeval.data.readers.flat import PART
from ropeval.data.readers.hdf5 import column, open_hdf5, own
from ropeval.data.readers.spaces import Space, flatten_leaf, parse_space
from ropeval.errors import UserError
from ropeval.files import load_json

DATA, METADATA = "main_data.hdf5", "metadata.json"
ID = re.compile(r"^([\w\-./]+/)?[\w\-.]+-v\d+$")
MAX_METADATA = 1 << 24  # bytes
LOG_PROBS = "ropeval_log_probs"  # in an episode's infos: of action t−1 at t, and 0 at the reset


def recognises(path: Path, start: bytes) -> bool:
    return path.is_dir() and folder_of(path) is not None


def folder_of(path: Path) -> Path | None:
    """The folder that holds a Minari dataset's data, given that folder, the one around it, or the file inside."""
    for candidate in (path, path / "data") if path.is_dir() else (path.parent,):
        if (candidate / METADATA).is_file() and _describes_minari(candidate / METADATA):
            return candidate
    return None


def _describes_minari(path: Path) -> bool:
    try:
        return path.stat().st_size < MAX_METADATA and '"total_episodes"' in path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False


def cache() -> Path:
    """Where Minari keeps what was downloaded or collected."""
    return Path(os.environ.get("MINARI_DATASETS_PATH") or Path.home() / ".minari" / "datasets")


def find(text: str) -> Path | None:
    """The folder of a dataset id such as `mujoco/hopper/medium-v0`; None where the text is no id. An id that the cache
    does not hold is refused."""
    if not ID.match(text):
        return None
    found = folder_of(cache() / text) if ".." not in text else None
    if found is None:
        near = get_close_matches(text, local_ids(), 3, 0.4)
        but = f", but {', '.join(near)}" if near else ""
        raise UserError(f"{text}: no such log; nor does Minari's cache ({cache()}) hold such an id{but}")
    return found


def local_ids() -> list[str]:
    found = (path.parent.parent for path in cache().glob(f"**/data/{METADATA}"))
    return sorted(str(folder.relative_to(cache())) for folder in found)


def read(path: Path, mapped: Mapped) -> Iterator[Dataset]:
    if set(mapped) - {ACTION_NAMES}:
        raise UserError(f"{path}: a Minari dataset has its names; --columns is for tables, npz and flat HDF5")
    folder = folder_of(path) or path
    about = _metadata(folder / METADATA)
    if about.get("data_format", "hdf5") != "hdf5":
        raise UserError(
            f"{folder}: stored in Minari's {about['data_format']!r} format; load it with Minari and write it again "
            "with data_format='hdf5'"
        )
    observation_space, action_space = (
        parse_space(about.get(key), f"{folder / METADATA}: {key}") for key in ("observation_space", "action_space")
    )
    notices = _action_notices(action_space)
    with open_hdf5(folder / DATA) as file:
        numbers = sorted(int(name[8:]) for name in file if name.startswith("episode_") and name[8:].isdecimal())
        if not numbers:
            raise UserError(f"{folder / DATA}: holds no episodes")
        if len(numbers) != about.get("total_episodes", len(numbers)):
            raise UserError(
                f"{folder / DATA}: holds {len(numbers)} episodes, but {METADATA} counts {about['total_episodes']}; "
                "copied while it was written?"
            )
        waiting: list[dict[str, NDArray[Any]]] = []
        steps, first = 0, numbers[0]
        for number in numbers:
            here = f"{folder / DATA}: episode_{number}"
            group = own(file, f"episode_{number}", str(folder / DATA))
            waiting.append(_episode(group, observation_space, action_space, here))
            steps += len(waiting[-1]["rewards"])
            if steps >= PART or number == numbers[-1]:
                whole = first == numbers[0] and number == numbers[-1]
                names = dict.fromkeys(name for episode in waiting for name in episode)
                columns = {name: _joined(waiting, name, folder / DATA) for name in names}
                columns["episode_ids"] = np.repeat(np.arange(len(waiting)), [len(e["rewards"]) for e in waiting])
                if action_space.kind == "Discrete":
                    columns["num_actions"] = np.array(action_space.counts[0])
                name = str(path) if whole else f"{path} (from episode_{first} on)"
                yield Dataset.from_columns(columns, name=name, notices=notices)
                waiting, steps, first = [], 0, number + 1


def _joined(episodes: list[dict[str, NDArray[Any]]], key: str, path: Path) -> NDArray[Any]:
    if not all(key in episode for episode in episodes):
        raise UserError(f"{path}: some episodes have infos/{LOG_PROBS} and some have not; remove it, or add it to all")
    return np.concatenate([episode[key] for episode in episodes])


def _metadata(path: Path) -> dict[str, Any]:
    about = load_json(path, "Minari's metadata")
    if not isinstance(about, dict):
        raise UserError(f"{path}: cannot be read as Minari's metadata (not a dictionary)")
    return about


def _action_notices(space: Space) -> tuple[str, ...]:
    if space.kind in ("Discrete", "Box"):
        return ()
    what = "0 or 1 each" if space.kind == "MultiBinary" else "flattened as Gymnasium does"
    return (f"actions of the space {space.kind} are taken as {space.size} numbers, {what}; policies answer likewise",)


def _episode(group: Any, observation_space: Space, action_space: Space, source: str) -> dict[str, NDArray[Any]]:
    rewards, terminations, truncations = (
        np.asarray(column(group, name, source)[()]).reshape(-1) for name in ("rewards", "terminations", "truncations")
    )
    steps = len(rewards)
    observations = _flat(group, "observations", observation_space, source)
    if action_space.kind == "Discrete":
        actions: NDArray[Any] = np.asarray(column(group, "actions", source)[()]).reshape(-1) - action_space.starts[0]
    else:
        actions = _flat(group, "actions", action_space, source)
    if len(observations) == steps:
        raise UserError(
            f"{source} has {steps} observations for {steps} steps; Minari keeps T+1 of them, with the last state of "
            "the episode: collect it again, or give the log as .npz with next_observations"
        )
    if len(observations) != steps + 1 or not len(actions) == len(terminations) == len(truncations) == steps:
        raise UserError(
            f"{source} has {len(observations)} observations, {len(actions)} actions, {steps} rewards, "
            f"{len(terminations)} terminations and {len(truncations)} truncations; expected T+1, T, T, T, T"
        )
    if steps == 0:
        raise UserError(f"{source} has no step; remove the episode")
    known = {}
    if own(group, f"infos/{LOG_PROBS}", source) is not None:
        known["log_probs"] = np.asarray(column(group, f"infos/{LOG_PROBS}", source)[()]).reshape(-1)[1:]
    return {
        **known,
        "observations": observations[:-1],
        "next_observations": observations[1:],
        "actions": actions,
        "rewards": rewards,
        "terminations": terminations,
        "truncations": truncations,
    }


def _flat(group: Any, name: str, space: Space, source: str) -> NDArray[np.float32]:
    """[T, size] of a space that may have branches, each a group of its own."""
    if not space.children:
        values = np.asarray(column(group, name, source)[()])
        if values.dtype.kind == "S" or values.ndim == 0:
            raise UserError(f"{source}: {name} holds compressed images or text; ropeval reads vectors")
        expected = (len(values), *space.shape) if space.kind in ("Box", "MultiBinary") else None
        if expected is not None and values.shape != expected and values.size != np.prod(expected):
            raise UserError(f"{source}: {name} has shape {values.shape}, but its space says {expected}")
        try:
            return flatten_leaf(space, values)
        except UserError as error:
            raise UserError(f"{source}: {name} has {error}") from error
    inner = own(group, name, source)
    if inner is None or not hasattr(inner, "keys"):
        raise UserError(f"{source}: {name} is missing, but the space is a {space.kind}")
    return np.concatenate([_flat(inner, key, child, source) for key, child in space.children], axis=1)
