"""Files written to do harm, and files that came to harm: refused, with the reason named, and nothing run.

Every file here is made by the test itself. `guarded` fails a test in which anything is executed, imported or opened,
in which memory grows by more than 2 GB, or which takes 10 seconds.
"""

import base64
import io
import json
import os
import pickle
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from ropeval.errors import UserError
from ropeval.policies import load_policy
from tests.fuzz.guard import guarded

FILES = Path(__file__).parent / "files"


class Harm:
    """What a malicious pickle looks like: unpickling it would run a command."""

    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


def refusal(path, *, match, suffix=""):
    with guarded(), pytest.raises(UserError, match=match) as caught:
        load_policy(f"{path}{suffix}")
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    assert len(message) < 600
    return message


def written(tmp_path, content, name="policy.pkl"):
    path = tmp_path / name
    path.write_bytes(content)
    return path


# --- pickles --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize(
    ("harm", "name"),
    [
        (Harm(os.system, "touch /tmp/ropeval-was-here"), r"(posix|nt)\.system"),
        (Harm(subprocess.Popen, ["true"]), r"(subprocess|commands)\.Popen"),
        (Harm(eval, "1 + 1"), r"(builtins|__builtin__)\.eval"),
        (Harm(getattr, "x", "upper"), r"(builtins|__builtin__)\.getattr"),
        (Harm(__import__, "antigravity"), r"(builtins|__builtin__)\.__import__"),
        (Harm(np.load, "x.npy"), r"numpy\.load"),
    ],
)
def test_a_call_in_a_pickle_is_refused_by_name(tmp_path, harm, name, protocol):
    refusal(written(tmp_path, pickle.dumps({"fc0/weight": harm}, protocol)), match=f"asks for {name}")


def test_a_call_hidden_behind_good_weights_is_refused(tmp_path):
    weights = {f"fc0/{part}": np.ones((2, 2), np.float32) for part in ("weight", "bias")}
    refusal(written(tmp_path, pickle.dumps(weights | {"last_fc/weight": Harm(os.getpid)})), match="getpid")


def numpy_array(shape=(2, 2), dtype=("f4", False, True), content=b"\0" * 16, fortran=False):
    """An array's pickle, by hand, so that it may say anything."""

    class State:
        def __reduce__(self):
            return np._core.multiarray._reconstruct, (np.ndarray, (0,), b"b"), (1, shape, Kind(), fortran, content)

    class Kind:
        def __reduce__(self):
            return np.dtype, dtype, (3, "<", None, None, None, -1, -1, 0)

    return State()


@pytest.mark.parametrize(
    ("array", "match"),
    [
        (numpy_array(shape=(10**6, 10**6)), "declares shape"),
        (numpy_array(shape=(2**62, 2**62)), "whole numbers"),
        (numpy_array(shape=(-1, 4)), "whole numbers"),
        (numpy_array(shape=(True, 4)), "whole numbers"),
        (numpy_array(shape=(1,) * 40), "whole numbers"),
        (numpy_array(shape="wide"), "its shape is text"),
        (numpy_array(content=b"\0" * 15), "declares shape"),
        (numpy_array(content="text"), "expected bytes"),
        (numpy_array(dtype=("O8", False, True)), "type 'O8'"),
        (numpy_array(dtype=("V4", False, True)), "type 'V4'"),
        (numpy_array(dtype=("f1", False, True)), "NumPy does not know"),
        (numpy_array(dtype=(["f4"], False, True)), "of type numpy.dtype"),
    ],
)
def test_arrays_that_lie_are_refused(tmp_path, array, match):
    refusal(written(tmp_path, pickle.dumps({"fc0/weight": array})), match=match)


OPCODES = {
    "a class by INST": (b"(cos\nsystem\n(i__main__\nX\n.", "asks for os.system"),
    "an object by INST": (b"(S'x'\nios\nsystem\n.", "instruction STRING"),
    "INST alone": (b"(ios\nsystem\n.", "asks for os.system"),
    "an allowed name by INST": (b"(inumpy\ndtype\n.", "asks for numpy.dtype"),
    "an object by OBJ": (b"\x80\x02(cnumpy\ndtype\no.", "instruction OBJ"),
    "the extension registry": (b"\x80\x02\x82\x01.", "instruction EXT1"),
    "the extension registry, far": (b"\x80\x02\x84\x01\0\0\0.", "instruction EXT4"),
    "a persistent reference": (b"\x80\x02K\x01Q.", "outside it"),
    "a persistent reference by name": (b"Pevil\n.", "instruction PERSID"),
    "keyword arguments": (b"\x80\x04\x8c\x05numpy\x8c\x05dtype\x93)}\x92.", "instruction NEWOBJ_EX"),
    "a call of a number": (b"\x80\x02K\x01)R.", "that has no name"),
    "state for a list": (b"\x80\x02](K\x01tb.", "no state to set"),
    "state twice": (b"\x80\x02cnumpy\ndtype\n)R}b}b.", "takes from an empty|no state to set"),
    "items of a number": (b"\x80\x02K\x01(K\x01K\x02u.", "of something that has none"),
    "half an item": (b"\x80\x02}(K\x01u.", "of something that has none"),
    "a tuple as key": (b"\x80\x02})K\x01s.", "neither text nor a number"),
    "append to a dict": (b"\x80\x02}K\x01a.", "not a list"),
    "an empty stack": (b"\x80\x02.", "empty stack"),
    "no mark": (b"\x80\x02t.", "no mark"),
    "a memory never made": (b"\x80\x02h\x07.", "never remembered"),
    "no end": (b"\x80\x02K\x01", "cut short"),
    "an unknown instruction": (b"\x80\x02\xff.", "damaged"),
    "a buffer from elsewhere": (b"\x80\x05\x97.", "instruction NEXT_BUFFER"),
    "a name that is a number": (b"\x80\x04K\x01K\x02\x93.", "is not text"),
    "text beyond the end": (b"\x80\x04\x8d" + struct.pack("<Q", 2**62) + b"x.", "damaged"),
    "an array of bytes beyond the end": (b"\x80\x05\x96" + struct.pack("<Q", 2**40) + b"x.", "damaged"),
    "a huge integer": (b"\x80\x02\x8b" + struct.pack("<i", 10_000) + b"\x7f" * 10_000 + b".", "integer of"),
    "a huge decimal": (b"I" + b"9" * 5000 + b"\n.", "damaged"),
    "a far place in the memory": (b"\x80\x02]r\xff\xff\xff\xff.", "found a list of 0"),
    "a list within itself": (b"\x80\x02]q\0h\0a.", "found a list of 1"),
    "a dict within itself": (b"\x80\x02}q\0X\1\0\0\0xh\0s.", "unknown layout"),
    "a pickle after the end": (b"\x80\x02}.cos\nsystem\n.", "unknown layout"),
    "many instructions": (b"\x80\x02]" + b"K\x01a" * 150_000 + b".", "more than 200,000 instructions"),
}  # fmt: skip


@pytest.mark.parametrize("what", OPCODES)
def test_instructions_are_refused_one_by_one(tmp_path, what):
    content, match = OPCODES[what]
    refusal(written(tmp_path, content), match=match)


def test_a_billion_laughs(tmp_path):
    """Lists of lists of lists, each twice: small to write down, endless to print, to hash or to walk."""
    body = b"\x80\x02]" + b"".join(
        b"q" + bytes([i]) + b"]h" + bytes([i]) + b"ah" + bytes([i]) + b"a" for i in range(200)
    )
    refusal(written(tmp_path, body + b"."), match="found a list of 2")
    nested = b"\x80\x02}X\1\0\0\0x)" + b"".join(b"q" + bytes([i]) + b"h" + bytes([i]) + b"\x86" for i in range(200))
    refusal(written(tmp_path, nested + b"s."), match="unknown layout")


def test_a_deep_nest_does_not_exhaust_the_stack(tmp_path):
    refusal(written(tmp_path, b"\x80\x02)" + b"\x85" * 150_000 + b"."), match="found a tuple of 1")


@pytest.mark.parametrize("keep", [1, 2, 10, 100, 200, -1])
def test_a_pickle_cut_short_is_refused(tmp_path, keep):
    whole = pickle.dumps({"fc0/weight": np.ones((4, 4), np.float32), "fc0/bias": np.ones(4, np.float32)})
    refusal(written(tmp_path, whole[:keep]), match="refused")


# --- archives -------------------------------------------------------------------------------------------------------


def members(path):
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def packed(content, method=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as file:
        for name, data in content.items():
            file.writestr(name, data)
    return buffer.getvalue()


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
    "a storage that is not there": (with_tensors(lambda inner: inner.pop("archive/data/3")), "no member 'archive/data/3'"),
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
    "JSON that is none": (lambda content: content.update(data=b"{"), "no JSON"),
    "JSON without end": (lambda content: content.update(data=b"[" * 200_000), "no JSON"),
    "JSON that is a list": (lambda content: content.update(data=b"[]"), "not an object"),
    "no spaces": (with_data(lambda fields: fields.pop("action_space")), "action_space is missing"),
    "a space that is not base64": (
        with_data(lambda fields: fields["action_space"].update({":serialized:": "§"})),
        "not base64",
    ),
    "a space that is an integer": (
        with_data(lambda fields: fields["action_space"].update({":serialized:": base64.b64encode(b"\x80\2K\1.").decode()})),
        "expected a Gymnasium space, found 1",
    ),
    "path traversal": (lambda content: content.update({"../../etc/passwd": b"x"}), "outside the archive"),
    "path traversal, absolute": (lambda content: content.update({"/etc/passwd": b"x"}), "outside the archive"),
    "path traversal, with a drive": (lambda content: content.update({"C:/x": b"x"}), "outside the archive"),
}  # fmt: skip


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
    content["policy.pth"] = declared(inner, b"archive/data/3", 300 * 2**20)
    refusal(
        written(tmp_path, packed(content), "nested.zip"), match=r"policy.pth: member 'archive/data/3' unpacks to 300"
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
    with pytest.warns(UserWarning, match="Duplicate"):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as file:
            for _ in range(2):
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


# --- arrays in .npz ---------------------------------------------------------------------------------------------------


def npy(header: str, content: bytes = b"") -> bytes:
    text = header.encode("latin1")
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + content


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 1000000)}"), "declares shape"),
        (npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-4,)}", b"\0" * 16), "declares shape|damaged"),
        (npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", pickle.dumps([1])), "nothing is unpickled"),
        (npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", b"\0" * 4), "plain numbers"),
        (npy("{'descr': ('<f4', (9,)), 'fortran_order': False, 'shape': (1,)}", b"\0" * 36), "plain numbers|damaged"),
        (npy("__import__('os').system('true')"), "damaged"),
        (npy("(" * 5000), "damaged"),
        (npy("-" * 9000 + "1"), "damaged"),
        (b"\x93NUMPY\x07\x00", "damaged"),
        (b"", "damaged"),
    ],
)
def test_arrays_with_odd_headers_are_refused(tmp_path, content, match):
    refusal(written(tmp_path, packed({"fc0_w.npy": content}), "policy.npz"), match=match)


# --- ONNX -------------------------------------------------------------------------------------------------------------


def field(number: int, value: bytes | int) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def model(*nodes: bytes, initializer: bytes | None = None, functions: bytes = b"") -> bytes:
    dims = lambda *sizes: field(2, b"".join(field(1, field(1, s)) for s in sizes))  # noqa: E731
    value = lambda name, *sizes: field(1, name) + field(2, field(1, field(1, 1) + dims(*sizes)))  # noqa: E731
    graph = b"".join(field(1, n) for n in nodes) + field(2, b"g")
    graph += field(5, initializer) if initializer else b""
    graph += field(11, value(b"x", 1, 3)) + field(12, value(b"y", 1, 3))
    return field(1, 8) + field(7, graph) + field(8, field(1, b"") + field(2, 13)) + functions


def node(operator: bytes, inputs=(b"x",), outputs=(b"y",), domain=b"", attribute=b"") -> bytes:
    parts = [field(1, i) for i in inputs] + [field(2, o) for o in outputs] + [field(4, operator)]
    return b"".join(parts) + (field(7, domain) if domain else b"") + attribute


def doubling(times: int) -> list[bytes]:
    axis = field(5, field(1, b"axis") + field(3, 1) + field(20, 2))
    names = [b"x", *(f"y{i}".encode() for i in range(times - 1)), b"y"]
    return [node(b"Concat", (a, a), (b,), attribute=axis) for a, b in zip(names[:-1], names[1:], strict=True)]


ONNX = {
    "a loop": (model(node(b"Loop")), "operator Loop"),
    "a random number": (model(node(b"RandomNormalLike")), "operator RandomNormalLike"),
    "an operator of a library": (model(node(b"Evil", domain=b"evil.ops")), "operator evil.ops.Evil"),
    "a known name of a library": (model(node(b"Relu", domain=b"com.microsoft")), "com.microsoft.Relu"),
    "a graph within the graph": (model(node(b"Relu", attribute=field(5, field(6, b"")))), "graph within its graph"),
    "functions": (model(node(b"Relu"), functions=field(25, b"")), "functions of its own"),
    "weights in another file": (
        model(
            node(b"Relu"), initializer=field(13, field(1, b"location") + field(2, b"../../etc/passwd")) + field(14, 1)
        ),
        "another file",
    ),
    "weights in another file, as a constant": (
        model(node(b"Constant", attribute=field(5, field(5, field(14, 1))))),
        "another file",
    ),
    "no operators": (model(), "0 operators"),
    "many operators": (model(*[node(b"Relu")] * 2001), "2001 operators"),
    "growth without end": (model(*doubling(40)), "onnxruntime"),
    "a length beyond the end": (b"\x3a\xff\xff\xff\xff\x0f", "no ONNX model"),
    "a number without end": (b"\xff" * 20, "no ONNX model"),
    "text": (b"hello, world", "no ONNX model"),
    "a name that leads nowhere": (model(node(b"Relu", inputs=(b"elsewhere",))), "onnxruntime refuses it"),
}


@pytest.mark.parametrize("what", ONNX)
def test_onnx_models_are_refused_by_reason(tmp_path, what):
    runtime = pytest.importorskip("onnxruntime", reason="the onnx extra is not installed")
    load_policy(FILES / "free_batch.onnx")  # onnxruntime's own set-up is not what is watched
    assert runtime
    content, match = ONNX[what]
    path = written(tmp_path, content, "policy.onnx")
    with guarded(), pytest.raises(UserError, match=match):
        load_policy(path)


def test_a_plain_onnx_model_made_by_hand_loads(tmp_path):
    pytest.importorskip("onnxruntime", reason="the onnx extra is not installed")
    policy = load_policy(written(tmp_path, model(node(b"Relu")), "policy.onnx"))
    observations = np.float32([[1, -2, 3]])
    np.testing.assert_array_equal(policy.sample(observations, np.random.default_rng(0)), [[1, 0, 3]])


# --- not even files -------------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX files")
def test_pipes_and_devices_are_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe.pkl")
    refusal(tmp_path / "pipe.pkl", match="no ordinary file")
    refusal(Path("/dev/zero"), match="no ordinary file")


@pytest.mark.parametrize("spec", ["\0", "x" * 5000, "a\nb", "@mean", "+", "+@mean", ":", "::", "x+y+z.pkl", "/"])
def test_odd_words_are_refused(spec):
    with pytest.raises(UserError):
        load_policy(spec)
