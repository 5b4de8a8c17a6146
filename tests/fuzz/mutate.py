"""Damage to files, blind and knowing. The knowing kind takes archives, pickles and JSON apart and puts them together
again, so that the damage gets past checksums and lengths to the code behind them."""

import base64
import io
import json
import pickletools
import re
import struct
import warnings
import zipfile
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from polars.exceptions import PanicException  # no Exception

from tests.fuzz import grammar

Rng = np.random.Generator
PARENTS = 200  # files whose parts are remembered: the good ones, and what is inside them
INTERESTING = [0, 1, 2, 0x7F, 0x80, 0xFF]
INTEGERS = [0, 1, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62, 2**63, 2**64 - 1]
SNIPPETS = [
    b"cos\nsystem\n(X\x04\0\0\0truetR",
    b"(ios\nsystem\n",
    b"cbuiltins\neval\n(X\x011tR",
    b"\x8c\x02os\x8c\x06system\x93",
    b"R",
    b"b",
    b"0",
    b"2",
    b"(",
    b"t",
    b"o",
    b"\x81",
    b"\x92",
    b"\x82\x01",
    b"\x84\xff\xff\xff\x7f",
    b"Q",
    b"\x94",
    b"h\x00",
    b"j\xff\xff\xff\x7f",
    b"q\x00",
    b"r\xff\xff\xff\x7f",
    b"]",
    b"}",
    b")",
    b"N",
    b"\x88",
    b"K\x00",
    b"J\xff\xff\xff\x7f",
    b"\x8a\x09" + b"\x7f" * 9,
    b"\x8e" + struct.pack("<Q", 2**62),
    b"\x96" + struct.pack("<Q", 2**40),
    b"\x97",
    b"\x98",
    b"a",
    b"e",
    b"s",
    b"u",
    b".",
]
LEAVES: list[Any] = [
    None,
    True,
    -1,
    0,
    2**70,
    1e308,
    float("nan"),
    "",
    "x" * 2000,
    "\0",
    [],
    {},
    [[[[]]]],
    {"a": {}},
    "<class 'os.system'>",
    10**400,
    float("inf"),
    "\x1b[31m",
    "\ud800",
    10**15,
]
HUGE = [b"[" * 5000, b'{"a":' * 3000, b"9" * 5000, b"1e999", b"Infinity", b"-" + b"9" * 400]  # in the place of a number
HEADERS = [
    (
        rb"'shape': \([^)]*\)",
        [b"'shape': (99999999999,)", b"'shape': (-1,)", b"'shape': ()", b"'shape': (2, 2, 2)", b"'shape': 3"],
    ),
    (
        rb"'descr': '[^']*'",
        [b"'descr': '|O'", b"'descr': '<f8'", b"'descr': '<U9'", b"'descr': '<M8[s]'", b"'descr': '|V8'"],
    ),
    (rb"'fortran_order': \w+", [b"'fortran_order': True", b"'fortran_order': 7"]),
]


def mutate(content: bytes, rng: Rng, others: list[bytes]) -> bytes:
    """One damage, sometimes two or three, as knowing as the content allows; `others` are files to take pieces from."""
    for _ in range(int(rng.choice([1, 1, 1, 1, 2, 3]))):
        content = _knowing(content, rng, others) if rng.random() < 0.85 else _blind(content, rng, others)
    return content


def _knowing(content: bytes, rng: Rng, others: list[bytes]) -> bytes:
    try:
        fitting = [damage for looks_like, damage in KNOWING if looks_like(content)]
        return fitting[int(rng.integers(len(fitting)))](content, rng, others)
    except (Exception, PanicException):  # it is damaged already, and cannot be taken apart
        return _blind(content, rng, others)


# --- blind ------------------------------------------------------------------------------------------------------------


def _blind(content: bytes, rng: Rng, others: list[bytes]) -> bytes:
    kind = int(rng.integers(8))
    start, end = sorted(int(n) for n in rng.integers(0, len(content) + 1, 2))
    if kind == 0:
        return content[:start]
    if kind == 1:
        return content[:start] + content[end:]
    if kind == 2:
        return content[:end] + content[start:end] + content[end:]
    if kind == 3:
        other = others[int(rng.integers(len(others)))]
        first, last = sorted(int(n) for n in rng.integers(0, len(other) + 1, 2))
        return content[:start] + other[first:last] + content[end:]
    if kind == 4:
        return content[:start] + rng.bytes(int(rng.integers(1, 64))) + content[start:]
    changed = bytearray(content)
    if not changed:
        return rng.bytes(16)
    if kind == 5:
        number = INTEGERS[int(rng.integers(len(INTEGERS)))]
        width = int(rng.choice([2, 4, 8]))
        at = int(rng.integers(len(changed)))
        piece = (number % 256**width).to_bytes(width, "little" if rng.random() < 0.8 else "big")
        changed[at : at + width] = piece
        return bytes(changed)
    for _ in range(int(rng.integers(1, 9))):
        at = int(rng.integers(len(changed)))
        changed[at] = int(rng.choice(INTERESTING)) if kind == 6 else changed[at] ^ (1 << int(rng.integers(8)))
    return bytes(changed)


# --- knowing ----------------------------------------------------------------------------------------------------------


@lru_cache(PARENTS)
def _is_zip(content: bytes) -> bool:
    return content.startswith(b"PK\x03\x04") and zipfile.is_zipfile(io.BytesIO(content))


@lru_cache(PARENTS)
def _members(content: bytes) -> list[tuple[str, bytes, int]]:
    """Name, content and compression."""
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return [(info.filename, file.read(info), info.compress_type) for info in file.infolist()]


def _zip(content: bytes, rng: Rng, others: list[bytes]) -> bytes:
    """Damage one member, and pack everything again with right checksums; or rename, drop or double one."""
    members: list[list[Any]] = [list(member) for member in _members(content)]
    weight = np.array([len(m[1]) ** 0.5 + 20 for m in members])
    chosen = members[int(rng.choice(len(members), p=weight / weight.sum()))]
    kind = int(rng.integers(12))
    if kind == 0:
        members.remove(chosen)
    elif kind == 1:
        chosen[0] = str(rng.choice(["../x", "/x", "data", "x.npy", "policy.pth", "\u00e9\u4e2d", "a" * 300]))
    elif kind == 2:
        members.append([chosen[0], others[int(rng.integers(len(others)))], zipfile.ZIP_STORED])
    elif kind == 3:
        chosen[2] = int(rng.choice([zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]))
    else:
        chosen[1] = mutate(chosen[1], rng, others)
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w") as file:
        warnings.simplefilter("ignore")
        for name, data, method in members:
            file.writestr(zipfile.ZipInfo(name), data, method)
    return buffer.getvalue()


def _is_pickle(content: bytes) -> bool:
    return len(content) > 2 and content[0] == 0x80 and content[1] < 6


@lru_cache(PARENTS)
def _instructions(content: bytes) -> list[int]:
    """Where they begin, as far as it is a pickle."""
    places = []
    try:
        for _, _, position in pickletools.genops(content):
            places.append(int(position or 0))
    except Exception:
        pass
    return places


def _pickle(content: bytes, rng: Rng, others: list[bytes]) -> bytes:
    """Put an instruction in, take some out, or exchange two, at the instructions' own borders."""
    places = _instructions(content)
    if len(places) < 3:
        return _blind(content, rng, others)
    a, b = sorted(places[int(i)] for i in rng.integers(0, len(places), 2))
    kind = int(rng.integers(3))
    if kind == 0:
        return content[:a] + SNIPPETS[int(rng.integers(len(SNIPPETS)))] + content[a:]
    if kind == 1:
        return content[:a] + content[b:]
    c = places[int(rng.integers(len(places)))]
    return content[:c] + content[a:b] + content[c:]


def _is_onnx(content: bytes) -> bool:
    return content[:1] == b"\x08" and b"pytorch" in content[:40]


def _in_place(content: bytes, rng: Rng, others: list[bytes]) -> bytes:
    """Change bytes and leave all lengths alone: protobuf has few checks beyond those."""
    changed = bytearray(content)
    for at in rng.integers(0, len(changed), int(rng.integers(1, 5))):
        changed[at] = int(rng.integers(256)) if rng.random() < 0.5 else changed[at] ^ (1 << int(rng.integers(8)))
    return bytes(changed)


def _is_json(content: bytes) -> bool:
    return content[:1] in (b"{", b"[") and content.rstrip()[-1:] in (b"}", b"]")


def _json(content: bytes, rng: Rng, others: list[bytes]) -> bytes:
    numbers = list(re.finditer(rb"-?\d+(\.\d+)?", content))
    if numbers and rng.random() < 0.1:
        found = numbers[int(rng.integers(len(numbers)))]
        return content[: found.start()] + HUGE[int(rng.integers(len(HUGE)))] + content[found.end() :]
    value = json.loads(content)
    holders = [(value, key) for key in (value if isinstance(value, dict) else range(len(value)))]
    for holder, key in holders[:300]:
        inside = holder[key]
        if isinstance(inside, dict | list):
            holders += [(inside, k) for k in (inside if isinstance(inside, dict) else range(len(inside)))]
    told = [(h, k) for h, k in holders if k == ":serialized:" and isinstance(h[k], str)]
    if told and rng.random() < 0.6:
        holder, key = told[int(rng.integers(len(told)))]
        holder[key] = base64.b64encode(mutate(base64.b64decode(holder[key]), rng, others)).decode()
    else:
        holder, key = holders[int(rng.integers(len(holders)))]
        holder[key] = LEAVES[int(rng.integers(len(LEAVES)))]
    return json.dumps(value).encode()


def _npy(content: bytes, rng: Rng, others: list[bytes]) -> bytes:
    pattern, choices = HEADERS[int(rng.integers(len(HEADERS)))]
    changed = (
        re.sub(pattern, lambda _: choices[int(rng.integers(len(choices)))], content[:256], count=1) + content[256:]
    )
    length = changed[:256].find(b"\n") - 9
    return changed[:8] + struct.pack("<H", length) + changed[10:] if 0 < length < 65536 else changed


def _is_text(content: bytes) -> bool:
    return bool(content) and b"\0" not in content[:200] and b"," in content[:200] and b"\n" in content


def _text(content: bytes, rng: Rng, others: list[bytes]) -> bytes:
    """A table: change a cell, drop or double a line."""
    lines = content.split(b"\n")
    at = int(rng.integers(len(lines)))
    kind = int(rng.integers(4))
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(at, lines[int(rng.integers(len(lines)))])
    else:
        cells = lines[at].split(b",")
        words = [b"", b"nan", b"inf", b"1e400", b"x", b'"', b"9" * 400, b"-1", b"true", b"\xff", b"null", b"1.5"]
        cells[int(rng.integers(len(cells)))] = words[int(rng.integers(len(words)))]
        lines[at] = b",".join(cells)
    return b"\n".join(lines)


Damage = Callable[[bytes, Rng, list[bytes]], bytes]
KNOWING: list[tuple[Callable[[bytes], bool], Damage]] = [
    (grammar.is_hdf5, grammar.damage_hdf5),
    (grammar.is_parquet, grammar.damage_parquet),
    (grammar.is_npz, grammar.damage_npz),
    (grammar.is_toml, grammar.damage_toml),
    (grammar.is_words, grammar.damage_words),
    (_is_zip, _zip),
    (_is_pickle, _pickle),
    (_is_onnx, _in_place),
    (_is_json, _json),
    (lambda content: content.startswith(b"\x93NUMPY"), _npy),
    (_is_text, _text),
]
