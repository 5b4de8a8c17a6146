"""Zips and arrays written to do harm, or come to harm: refused by reason, nothing unpacked beyond the limits."""

import base64
import io
import json
import os
import pickle
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from ropeval.policies import load_policy
from tests.fuzz.guard import guarded
from tests.policies.hostile import FILES, Harm, members, packed, refusal, written


def sac(tmp_path, change, name="policy.zip"):
    content = members(FILES / "sac.zip")
    change(content)
    return written(tmp_path, packed(content), name)


def with_data(change):
    def apply(content):
        fields = json.loads(content["data"])
        change(fields)
        content["data"] = json.dumps(fields)

    return apply


def with_tensors(change):
    def apply(content):
        inner = members(io.BytesIO(content["policy.pth"]))
        change(inner)
        content["policy.pth"] = packed(inner)

    return apply


def test_an_untouched_copy_loads(tmp_path):
    """The hostile ones below differ from this one by what they say they differ in."""
    same = load_policy(sac(tmp_path, with_tensors(lambda inner: None)))
    assert same.sha256 == load_policy(FILES / "sac.zip").sha256


def evil_space(fields):
    fields["action_space"][":serialized:"] = base64.b64encode(pickle.dumps(Harm(os.system, "true"))).decode()


def evil_elsewhere(fields):
    """A pickle that is never looked into: it may hold anything, and is not run."""
    fields["lr_schedule"] = {
        ":type:": "function",
        ":serialized:": base64.b64encode(pickle.dumps(Harm(exit, 3))).decode(),
    }


def test_pickles_that_are_not_needed_are_not_read(tmp_path):
    path = sac(tmp_path, with_data(evil_elsewhere))
    with guarded():
        load_policy(path)


def evil_tensors(inner):
    inner["archive/data.pkl"] = pickle.dumps(Harm(os.system, "true"), 2)


def huge_window(inner):
    """A tensor of 2^32 numbers over a storage of a few, by strides of zero."""
    data = inner["archive/data.pkl"]
    size, strides = b"K\x04K\x03\x86", b"K\x03K\x01\x86"
    assert size in data
    place = data.index(size)
    after = data.index(strides, place)
    huge = b"J\0\0\1\0J\0\0\1\0\x86"
    inner["archive/data.pkl"] = (
        data[:place] + huge + data[place + len(size) : after] + b"K\0K\0\x86" + data[after + len(strides) :]
    )


ARCHIVES = {
    "a space that runs a command": (with_data(evil_space), r"action_space: .*asks for (posix|nt)\.system"),
    "weights that run a command": (with_tensors(evil_tensors), r"policy.pth: .*asks for (posix|nt)\.system"),
    "a window larger than its storage": (with_tensors(huge_window), "its storage has"),
    "a storage that is not there": (with_tensors(lambda inner: inner.pop("archive/data/3")), "no member 'archive/data"),
    "a storage cut short": (
        with_tensors(lambda inner: inner.update({"archive/data/3": inner["archive/data/3"][:-4]})),
        "its storage has",
    ),
    "a storage of odd length": (
        with_tensors(lambda inner: inner.update({"archive/data/3": b"abc"})),
        "not a whole number",
    ),
    "no tensors at all": (lambda content: content.update({"policy.pth": b"PK"}), "cut short"),
    "two descriptions": (with_tensors(lambda inner: inner.update({"b/data.pkl": b"x"})), "found 2"),
    "weights that are not finite": (
        with_tensors(lambda inner: inner.update({"archive/data/0": b"\xff" * len(inner["archive/data/0"])})),
        "not finite",
    ),
    "JSON that grows in memory": (lambda content: content.update(data=b"[" + b"[]," * 12_000_000), "unpacks to 34 MiB"),
    "JSON that is none": (lambda content: content.update(data=b"{"), "no JSON"),
    "JSON without end": (lambda content: content.update(data=b"[" * 200_000), "no JSON"),
    "JSON that is a list": (lambda content: content.update(data=b"[]"), "not an object"),
    "no spaces": (with_data(lambda fields: fields.pop("action_space")), "action_space is missing"),
    "a space that is not base64": (
        with_data(lambda fields: fields["action_space"].update({":serialized:": "§"})),
        "not base64",
    ),
    "a space that is an integer": (
        with_data(lambda fields: fields["action_space"].update({":serialized:": "gAJLAS4="})),  # the pickle of 1
        "expected a Gymnasium space, found 1",
    ),
    "path traversal": (lambda content: content.update({"../../etc/passwd": b"x"}), "outside the archive"),
    "path traversal, absolute": (lambda content: content.update({"/etc/passwd": b"x"}), "outside the archive"),
    "path traversal, with a drive": (lambda content: content.update({"C:/x": b"x"}), "outside the archive"),
}


@pytest.mark.parametrize("what", ARCHIVES)
def test_archives_are_refused_by_reason(tmp_path, what):
    change, match = ARCHIVES[what]
    refusal(sac(tmp_path, change), match=match)


@pytest.mark.parametrize("name", ["sac.zip", "ppo.zip", "d3rlpy_td3.onnx", "vecnormalize.pkl"])
def test_every_truncation_is_refused(tmp_path, name):
    whole = (FILES / name).read_bytes()
    suffix = Path(name).suffix
    for keep in np.linspace(0, len(whole) - 1, 60).astype(int):
        path = written(tmp_path, whole[:keep], f"policy{suffix}")
        refusal(path, match="policy")


def test_a_zip_bomb_is_not_unpacked(tmp_path):
    """300 MB of zeros in 300 KB: its declared size gives it away."""
    content = members(FILES / "sac.zip")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        file.writestr("data", content["data"])
        with file.open("policy.pth", "w", force_zip64=True) as member:
            for _ in range(300):
                member.write(bytes(2**20))
    refusal(written(tmp_path, buffer.getvalue(), "bomb.zip"), match="unpacks to 300 MiB")


def test_a_zip_that_lies_about_its_size_is_refused(tmp_path):
    """Ten MB, declaring a kilobyte: what is unpacked stops there, and the checksum does not fit."""
    bomb = packed(members(FILES / "sac.zip") | {"policy.pth": bytes(10 * 2**20)}, zipfile.ZIP_DEFLATED)
    refusal(written(tmp_path, declared(bomb, b"policy.pth", 1024), "liar.zip"), match="damaged")


def test_a_bomb_within_a_zip_is_not_unpacked(tmp_path):
    content = members(FILES / "sac.zip")
    inner = packed(members(io.BytesIO(content["policy.pth"])))
    content["policy.pth"] = declared(inner, b"archive/data/9", 300 * 2**20)
    refusal(
        written(tmp_path, packed(content), "nested.zip"), match=r"policy.pth: member 'archive/data/9' unpacks to 300"
    )


def declared(archive: bytes, name: bytes, size: int) -> bytes:
    """The archive with another size for one member, in both places that hold it."""
    changed = bytearray(archive)
    for header, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        length = {22: 30, 24: 46}[offset]
        (at,) = [
            i for i in range(len(archive)) if archive.startswith(name, i) and archive.startswith(header, i - length)
        ]
        struct.pack_into("<L", changed, at - length + offset, size)
    return bytes(changed)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_odd_compression_is_refused(tmp_path, method):
    refusal(written(tmp_path, packed(members(FILES / "sac.zip"), method), "odd.zip"), match="compressed by method")


def test_the_same_member_twice_is_refused(tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("data", b"{}")
        with pytest.warns(UserWarning, match="Duplicate"):
            file.writestr("data", b"{}")
    refusal(written(tmp_path, buffer.getvalue(), "twice.zip"), match="there twice")


def test_a_long_list_of_members_is_not_read(tmp_path):
    content = packed({"data": b"", "policy.pth": b""})
    end = content.rindex(b"PK\x05\x06")
    changed = bytearray(content)
    struct.pack_into("<L", changed, end + 12, 2**31)
    refusal(written(tmp_path, bytes(changed), "many.zip"), match="no policy has that many members")


def test_an_encrypted_member_is_refused(tmp_path):
    content = bytearray(packed({"data": b"{}", "policy.pth": b""}))
    content[content.index(b"PK\x01\x02") + 8] |= 1
    refusal(written(tmp_path, bytes(content), "secret.zip"), match="encrypted")
