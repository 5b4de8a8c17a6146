"""Opening HDF5 with care, and telling apart what is inside: D4RL, d3rlpy, or a part of a Minari dataset."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropeval.data.column_names import Mapped, check_found, find_names
from ropeval.data.dataset import Dataset
from ropeval.data.readers.contiguous import mapped_column
from ropeval.data.readers.flat import read_in_parts, with_steps
from ropeval.errors import UserError, first_line
from ropeval.files import BOMB_BYTES, BOMB_RATIO, UNREADABLE, release

MAGIC = b"\x89HDF\r\n\x1a\n"


@contextmanager
def open_hdf5(path: Path) -> Iterator[Any]:
    """The file as h5py gives it; whatever goes wrong inside is the file's fault, and said so."""
    import h5py

    try:
        with h5py.File(path, "r") as file:
            yield file
    except UserError:
        raise
    except (*UNREADABLE, TypeError, IndexError) as error:
        raise UserError(f"{path}: cannot be read as HDF5, damaged or cut short? ({first_line(error)})") from error


def own(group: Any, name: str, source: str) -> Any:
    """What lies under a name in this very file; None where nothing does. A link on the way is not followed: it may
    lead out of the file. A dataset must hold its values itself."""
    import h5py

    found = group
    for part in name.split("/"):
        links = found.id.links if isinstance(found, h5py.Group) else None
        if links is None or not links.exists(part.encode()):
            return None
        if links.get_info(part.encode()).type != h5py.h5l.TYPE_HARD:
            raise UserError(
                f"{source}: {part} is a link and points into another file, or may; copy the log into one file"
            )
        found = found[part]
    if isinstance(found, h5py.Dataset) and (found.is_virtual or found.external):
        raise UserError(f"{source}: {name} keeps its values in another file; copy the log into one file")
    return found


def single(file: Any, name: str, source: str) -> Any:
    """One number or word."""
    found = own(file, name, source)
    if getattr(found, "shape", None) != () or found.dtype.kind not in "fiubSO":  # O: a word of any length
        raise UserError(f"{source}: {name} is not a single number or word")
    return found[()]


def column(group: Any, name: str, source: str) -> Any:
    """A dataset of numbers inside a group: its own, of an honest size. Nothing is read yet."""
    import h5py

    found = own(group, name, source)
    if not isinstance(found, h5py.Dataset):
        what = "a group" if isinstance(found, h5py.Group) else "missing"
        names = islice(group, 20) if isinstance(group, h5py.Group) else ()  # a dataset would give all its values
        raise UserError(f"{source}: {name} is {what}, not a column; found {', '.join(names) or 'nothing'}")
    if found.shape is None or found.dtype.kind not in "fiubS":
        raise UserError(f"{source}: {name} holds {found.dtype}, not numbers")
    stored = found.id.get_storage_size()
    if found.nbytes > BOMB_BYTES and found.nbytes > BOMB_RATIO * stored:
        raise UserError(
            f"{source}: {name} claims {found.nbytes / 1e9:.1f} GB but {stored / 1e6:.1f} MB are stored; the file is "
            "damaged or hostile"
        )
    return found


def recognises(path: Path, start: bytes) -> bool:
    return start.startswith(MAGIC)


def read(path: Path, mapped: Mapped) -> Iterator[Dataset]:
    """Any log in an HDF5 file."""
    from ropeval.data.readers import d3rlpy, minari  # they open files with what stands above

    with open_hdf5(path) as file:
        names = set(file)
        if {"columns", "num_episodes", "version"} <= names:
            yield from with_steps(d3rlpy.read(file, str(path)), str(path))
        elif any(name.startswith("episode_") and name[8:].isdecimal() for name in names):
            folder = minari.folder_of(path)
            if folder is None:
                raise UserError(
                    f"{path}: these are episodes of a Minari dataset, but its metadata.json is not beside it; give the "
                    "dataset's folder as it was"
                )
            yield from minari.read(folder, mapped)
        else:
            yield from with_steps(_read_flat(file, mapped, str(path)), str(path))


def _read_flat(file: Any, mapped: Mapped, source: str) -> Iterator[Dataset]:
    """D4RL's layout: `terminals`, `timeouts`, perhaps `next_observations` and `infos/action_log_probs`."""
    available = _column_names(file)
    if "PYTABLES_FORMAT_VERSION" in file.attrs and "observations" not in available:
        raise UserError(f"{source}: pandas wrote this with to_hdf; write the frame with to_parquet, and give that")
    found = {name: keys[0] for name, keys in find_names(available, mapped, source).items() if name != "time"}
    if "log_probs" not in found and "infos/action_log_probs" in available:
        found["log_probs"] = "infos/action_log_probs"
    if "truncations" not in found and "episode_terminals" in available and "truncations" not in mapped:
        found["truncations"] = "episode_terminals"  # d3rlpy 1: the last step of every episode, terminated or not
    if found.get("terminations") and "truncations" not in found and "truncations" not in mapped:
        raise UserError(
            f"{source}: there are terminals but no timeouts, so the ends of episodes that were cut off cannot be seen; "
            "say --columns truncations=never if no episode was, or truncations=COLUMN if another column tells; found "
            + ", ".join(available[:20])
        )
    check_found(found, mapped, available, source)
    columns = {name: column(file, key, source) for name, key in found.items()}
    for name, values in columns.items():
        if values.ndim == 0 and name != "num_actions":
            raise UserError(f"{source}: {name} is a single number, not a column")
    steps = len(columns["rewards"])
    lengths = {name: len(values) for name, values in columns.items() if name != "num_actions"}
    odd = [name for name, length in lengths.items() if length != steps]
    if odd:
        raise UserError(
            f"{source}: {odd[0]} has {lengths[odd[0]]:,} rows but rewards has {steps:,}; every column needs one row "
            "per step" + (" (T+1 observations per episode: drop the last of each)" if "observations" in odd[0] else "")
        )

    for name, values in columns.items():
        lying = mapped_column(values)
        columns[name] = values if lying is None else lying

    def rows(name: str, part: slice) -> NDArray[Any]:
        release(columns[name])  # where it is mapped: of the part before
        return np.asarray(columns[name][()] if name == "num_actions" else columns[name][part])

    yield from read_in_parts(rows, list(columns), steps, mapped, source)


def _column_names(file: Any) -> list[str]:
    """Columns at the top, and in `infos`."""
    import h5py

    inner = own(file, "infos", file.filename)
    nested = [f"infos/{name}" for name in inner] if isinstance(inner, h5py.Group) else []
    return [name for name in file if name not in ("infos", "metadata")] + nested
