"""Sound files with hostile structure: HDF5, Parquet, npz and TOML, written again by their own libraries.

What is made here is valid to the letter, so that it gets past every checksum to the code that asks what it means.
"""

import io
import warnings
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any

import h5py
import numpy as np
import polars as pl

Rng = np.random.Generator
NAMES = [
    "", ".", "x", "\x1b[31m", "é中", "\u202e", "a" * 300, "rewards", "episode_0", "episode_00", "episode_9999999999999",
    "observations_1", "observations_01", "num_actions", "time", "log_probs", "infos", "metadata", "actions_0_0",
]  # fmt: skip
NUMBERS: list[Any] = [0, 1, -1, 3.9, 2**31, 2**63 - 1, -(2**63), 1e15, 1e38, 1e308, 1e-320, np.nan, np.inf, -np.inf]


def pick(rng: Rng, choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


# --- arrays, for HDF5 and npz ---------------------------------------------------------------------------------------


def odd_array(rng: Rng, like: Any) -> Any:
    """Something else of another type, shape or content, in the place of an array."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return pick(rng, ARRAYS)(rng, np.asarray(like))


def _spoiled(rng: Rng, like: Any) -> Any:
    values = np.array(like, np.float64).copy()
    values.reshape(-1)[int(rng.integers(max(1, values.size))) :][:1] = pick(rng, NUMBERS)
    return values


ARRAYS: list[Callable[[Rng, Any], Any]] = [
    _spoiled,
    _spoiled,
    lambda rng, a: np.full(a.shape, pick(rng, NUMBERS)),
    lambda rng, a: a.astype(pick(rng, ["f2", ">f8", "i1", "u8", "?", "c16", "S3", "g"])),
    lambda rng, a: a.reshape(pick(rng, [(-1,), (1, -1), (-1, 1), (-1, 1, 1)])),
    lambda rng, a: a[: int(rng.integers(len(a) + 1))] if a.ndim else a,
    lambda rng, a: np.concatenate([a, a]) if a.ndim else a,
    lambda rng, a: a.T,
    lambda rng, a: np.array(pick(rng, NUMBERS)),
    lambda rng, a: np.zeros(pick(rng, [(0,), (0, 3), (20, 0), (1,) * 9])),
    lambda rng, a: np.zeros(len(a) if a.ndim else 1, [("a", "f4"), ("b", "S4")]),
    lambda rng, a: np.array([b"word", b"\xff"] * 10),
    lambda rng, a: rng.integers(-(2**40), 2**40, a.shape),
    lambda rng, a: rng.integers(0, 3, len(a) if a.ndim else ()),
]


# --- HDF5 -----------------------------------------------------------------------------------------------------------


def is_hdf5(content: bytes) -> bool:
    return content.startswith(b"\x89HDF")


def damage_hdf5(content: bytes, rng: Rng, others: list[bytes]) -> bytes:
    with h5py.File(h5py.h5f.open_file_image(content, flags=1)) as file:
        names: list[str] = []
        file.visit(names.append)
        for _ in range(int(rng.integers(1, 4))):
            name = pick(rng, names)
            if name in file:
                pick(rng, HDF5)(file, name, rng)
        file.flush()
        return bytes(file.id.get_file_image())


def _replace(file: Any, name: str, make: Callable[[], Any]) -> None:
    values = file[name][()] if isinstance(file[name], h5py.Dataset) else None
    del file[name]
    file[name] = make() if values is None else values


def _odd_values(file: Any, name: str, rng: Rng) -> None:
    if isinstance(file[name], h5py.Dataset):
        values = odd_array(rng, file[name][()])
        del file[name]
        file[name] = values


def _claimed(file: Any, name: str, rng: Rng) -> None:
    """Rows that were never written: a few, many, or more than there are bytes in the world."""
    rows = pick(rng, [0, 1, 20, 21, 10**6, 2**40])
    dtype = file[name].dtype if isinstance(file[name], h5py.Dataset) and file[name].dtype.kind in "fiu" else "f4"
    del file[name]
    shape = pick(rng, [(rows,), (rows, 3), (rows, 1, 1)])
    kinds: list[dict[str, Any]] = [
        {},
        {"compression": "gzip"},
        {"shuffle": True},
        {"fletcher32": True},
        {"fillvalue": 7},
    ]
    file.create_dataset(name, shape, dtype, chunks=tuple(min(16, n) or 1 for n in shape), maxshape=(None, *shape[1:]),
                        **pick(rng, kinds))  # fmt: skip


def _linked(file: Any, name: str, rng: Rng) -> None:
    del file[name]
    links = [h5py.SoftLink("/nowhere"), h5py.SoftLink(f"/{name}"), h5py.SoftLink("/"), h5py.ExternalLink("log.h5", "/")]
    file[name] = pick(rng, [*links, h5py.ExternalLink("/dev/zero", "/x")])


def _renamed(file: Any, name: str, rng: Rng) -> None:
    new = pick(rng, NAMES[2:])
    if new not in file:
        file.move(name, new)


def _described(file: Any, name: str, rng: Rng) -> None:
    file[name].attrs[pick(rng, NAMES[2:])] = pick(rng, [3, "x" * 1000, np.zeros(100), h5py.Empty("f4")])


def _moved_into_itself(file: Any, name: str, rng: Rng) -> None:
    file.require_group("infos")["loop"] = file["/"]  # a hard link: a circle


def _typed(file: Any, name: str, rng: Rng) -> None:
    kinds = [
        h5py.string_dtype(),
        h5py.vlen_dtype("f4"),
        h5py.enum_dtype({"A": 0, "B": 1}),
        h5py.ref_dtype,
        np.dtype("V8"),
    ]
    rows = pick(rng, [(), (0,), (20,), (20, 2)])
    del file[name]
    file.create_dataset(name, rows, pick(rng, kinds))


def _emptied(file: Any, name: str, rng: Rng) -> None:
    del file[name]
    if rng.random() < 0.5:
        file.create_group(name) if rng.random() < 0.5 else file.create_dataset(name, data=h5py.Empty("f4"))


HDF5: list[Callable[[Any, str, Rng], None]] = [
    _odd_values, _odd_values, _odd_values, _claimed, _linked, _renamed, _described, _moved_into_itself, _typed,
    _emptied,
]  # fmt: skip


# --- Parquet --------------------------------------------------------------------------------------------------------


def is_parquet(content: bytes) -> bool:
    return content.startswith(b"PAR1")


CELLS: list[Any] = [
    None, True, "word", "", "\x1b[31m", b"\xff", date(2020, 1, 1), timedelta(1), Decimal("1.5"), [1.0, 2.0], [], [None],
    ["a"], [[1]], {"a": 1}, {"a": {"b": [b"x"]}}, *NUMBERS[:6], np.nan, np.inf,
]  # fmt: skip


@lru_cache(50)
def _frame(content: bytes) -> pl.DataFrame:
    return pl.read_parquet(io.BytesIO(content))


def damage_parquet(content: bytes, rng: Rng, others: list[bytes]) -> bytes:
    frame = _frame(content)
    for _ in range(int(rng.integers(1, 4))):
        frame = pick(rng, PARQUET)(frame, pick(rng, frame.columns), rng)
    written = io.BytesIO()
    kinds = ["zstd", "snappy", "gzip", "lz4", "uncompressed"]
    frame.write_parquet(written, compression=pick(rng, kinds), row_group_size=pick(rng, [None, 1, 7]))
    return written.getvalue()


def _cells(frame: pl.DataFrame, name: str, rng: Rng) -> pl.DataFrame:
    cell = pick(rng, CELLS)
    values = [cell] * frame.height
    if rng.random() < 0.5 and frame.height:
        values[int(rng.integers(frame.height))] = None
    return frame.with_columns(pl.Series(name, values, strict=False))


def _cast(frame: pl.DataFrame, name: str, rng: Rng) -> pl.DataFrame:
    kinds = [pl.Int8, pl.UInt64, pl.Int128, pl.Float64, pl.String, pl.Boolean, pl.Categorical, pl.Duration, pl.Datetime,
             pl.Decimal(10, 2), pl.Time, pl.Binary, pl.Null]  # fmt: skip
    return frame.with_columns(pl.col(name).cast(pl.String).cast(pick(rng, kinds), strict=False))


def _one_cell(frame: pl.DataFrame, name: str, rng: Rng) -> pl.DataFrame:
    row, value = int(rng.integers(max(1, frame.height))), pick(rng, NUMBERS)
    place = pl.int_range(pl.len()) == row
    return frame.with_columns(
        pl.when(place).then(pl.lit(float(value))).otherwise(pl.col(name).cast(pl.Float64)).alias(name)
    )


def _listed(frame: pl.DataFrame, name: str, rng: Rng) -> pl.DataFrame:
    return frame.with_columns(pl.concat_list(name, name)) if rng.random() < 0.5 else frame.select(pl.struct(name), "*")


PARQUET: list[Callable[[pl.DataFrame, str, Rng], pl.DataFrame]] = [
    _cells, _cells, _cast, _cast, _one_cell, _one_cell, _listed,
    lambda frame, name, rng: frame.rename({name: pick(rng, [n for n in NAMES if n not in frame.columns])}),
    lambda frame, name, rng: frame.drop(name),
    lambda frame, name, rng: frame.head(int(rng.integers(3))),
    lambda frame, name, rng: frame.with_columns(frame[name].alias(pick(rng, NAMES))),
    lambda frame, name, rng: frame.sample(fraction=1.0, shuffle=True, seed=int(rng.integers(2**31))),
]  # fmt: skip


# --- npz ------------------------------------------------------------------------------------------------------------


def is_npz(content: bytes) -> bool:
    return content.startswith(b"PK") and b".npy" in content[:60]


@lru_cache(50)
def _arrays(content: bytes) -> dict[str, Any]:
    with np.load(io.BytesIO(content)) as file:
        return {name: file[name] for name in file.files}


def damage_npz(content: bytes, rng: Rng, others: list[bytes]) -> bytes:
    arrays = dict(_arrays(content))
    for _ in range(int(rng.integers(1, 4))):
        name = pick(rng, list(arrays))
        kind = rng.random()
        if kind < 0.7:
            arrays[name] = odd_array(rng, arrays[name])
        elif kind < 0.85:
            arrays[pick(rng, NAMES[2:])] = arrays.pop(name)
        else:
            arrays[pick(rng, NAMES[2:])] = odd_array(rng, arrays[name])
    written = io.BytesIO()
    (np.savez_compressed if rng.random() < 0.3 else np.savez)(written, **arrays)
    return written.getvalue()


# --- TOML, and words of a command line ------------------------------------------------------------------------------

VALUES = [
    "0", "-1", "1e400", "nan", "-inf", "true", '""', '"\\u001b[31m"', "1979-05-27", "07:32:00", "[]", "{}", "[[[]]]",
    "[nan]", "{a = {b = 1}}", "9" * 30, "9" * 5000, "0x" + "f" * 4000, "[" * 3000, "[" * 200 + "]" * 200,
    "1000000000000000000", "[1, 1]", '["fqe", "fqe"]', '["*"]', '"' + "a" * 5000 + '"', "2147483648",
    "[" + "0.5," * 3000 + "]", "0.5", "3", '"fqe"',
]  # fmt: skip


def is_toml(content: bytes) -> bool:
    return b" = " in content and b"\0" not in content


def damage_toml(content: bytes, rng: Rng, others: list[bytes]) -> bytes:
    lines = content.decode("utf-8", "replace").split("\n")
    at = int(rng.integers(len(lines)))
    name, equals, _ = lines[at].partition(" = ")
    kind = rng.random()
    if kind < 0.6 and equals:
        lines[at] = f"{name} = {pick(rng, VALUES)}"
    elif kind < 0.8:
        lines.insert(at, f"{pick(rng, KEYS)} = {pick(rng, VALUES)}")
    elif kind < 0.9:
        lines.insert(
            at,
            pick(rng, ["[fqe]", "[rope]", "[settings.fqe]", '[grid."rope+fqe"]', "[" + "a." * 500 + "a]", "[[fqe]]"]),
        )
    else:
        del lines[at]
    return "\n".join(lines).encode()


KEYS = [
    "gamma", "members", "steps", "method", "methods", "tasks", "seeds", "settings", "grid", "name", "draws", "seed",
    "level", "columns", "fqe.steps", "fqe.width", '"fqe.width"', '"rope.beta"', '"\\u001b[31m"', '""', "key",
    "resample", "tune",
]  # fmt: skip
WORDS = [
    "--gamma", "--members", "--steps", "--seed", "--set", "--columns", "--method", "--level", "--draws", "--truth",
    "--out", "fqe.steps=1", "fqe.steps=" + "[" * 2000, "a.b=c", "=", "observations=a*,b", "terminations=always",
    "time=t", "-1", "nan", "1e400", "9" * 30, "9" * 5000, "\x1b[31m", "\udcff", "", "uniform", "a=b=c", "x" * 300,
    "rope+fqe", "--", "-h", "--resume",
]  # fmt: skip


def is_words(content: bytes) -> bool:
    return content.startswith(b"evaluate\n")


def damage_words(content: bytes, rng: Rng, others: list[bytes]) -> bytes:
    words = content.decode("utf-8", "surrogateescape").split("\n")
    at = 1 + int(rng.integers(len(words)))
    if rng.random() < 0.7:
        words.insert(at, pick(rng, WORDS))
    else:
        words[at : at + 1] = [pick(rng, WORDS)]
    return "\n".join(words).encode("utf-8", "surrogateescape")
