"""Pickles written to do harm, or come to harm: refused, with the name or the reason, and nothing run."""

import os
import pickle
import pickletools
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ropeval.errors import UserError
from ropeval.policies import load_policy
from tests.policies.hostile import Harm, refusal, written


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


@pytest.mark.parametrize("module", ["sklearn.pipeline", "__main__"])
def test_a_model_says_how_it_becomes_a_policy(tmp_path, module):
    path = written(tmp_path, b"\x80\x02c" + module.encode() + b"\nModel\n.")
    refusal(path, match=rf"asks for {module}\.Model, .*function of your own, and give FILE.py:name")


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
}


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


def test_the_same_bytes_a_hundred_times(tmp_path):
    """Ten MB of numbers, mentioned by a hundred weights: a gigabyte, if anybody took it at its word."""
    once = pickle.dumps({"fc0/weight": np.ones(10 * 2**18, np.float32)}, 3)
    assert once.endswith(b"s.")
    recall = b"h" + bytes([_array_in_memo(once)]) + b"s"
    again = b"".join(b"X\4\0\0\0" + f"{i:04}".encode() + recall for i in range(100))
    refusal(written(tmp_path, once[:-1] + again + b"."), match="larger than the file")


def _array_in_memo(content: bytes) -> int:
    """Where the pickle keeps its array: the place after its first call, which is of _reconstruct."""
    names = [(op.name, argument) for op, argument, _ in pickletools.genops(content)]
    return names[[name for name, _ in names].index("REDUCE") + 1][1]


@pytest.mark.parametrize("keep", [1, 2, 10, 100, 200, -1])
def test_a_pickle_cut_short_is_refused(tmp_path, keep):
    whole = pickle.dumps({"fc0/weight": np.ones((4, 4), np.float32), "fc0/bias": np.ones(4, np.float32)})
    refusal(written(tmp_path, whole[:keep]), match="refused")


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX files")
def test_pipes_and_devices_are_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe.pkl")
    refusal(tmp_path / "pipe.pkl", match="no ordinary file")
    refusal(Path("/dev/zero"), match="no ordinary file")


@pytest.mark.parametrize("spec", ["\0", "x" * 5000, "a\nb", "@mean", "+", "+@mean", ":", "::", "x+y+z.pkl", "/"])
def test_odd_words_are_refused(spec):
    with pytest.raises(UserError):
        load_policy(spec)
