"""Arrays of strangers: a header is believed as far as the bytes are there."""

import pickle
import struct

import pytest

from tests.policies.hostile import packed, refusal, written


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
        (npy("{b'escr': '<f4', 'fortran_order': False, 'shape': (1,)}", b"\0" * 4), "damaged"),
        (b"\x93NUMPY\x07\x00", "damaged"),
        (b"", "damaged"),
    ],
)
def test_arrays_with_odd_headers_are_refused(tmp_path, content, match):
    refusal(written(tmp_path, packed({"fc0_w.npy": content}), "policy.npz"), match=match)
