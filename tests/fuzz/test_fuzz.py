"""Ten thousand damaged files, none of which may do more than be read or refused; and properties of the inert reader."""

import pickle

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from polars.exceptions import PanicException

from ropeval.errors import UserError
from ropeval.policies.inert.archives import Archive
from ropeval.policies.inert.arrays import GLOBALS, as_array
from ropeval.policies.inert.onnx_file import check_onnx
from ropeval.policies.inert.pickles import read_pickle
from tests.fuzz import mutate
from tests.fuzz.campaign import LIBRARY_DIED, run_campaign

FILES, SEED = 3_000, 0  # the same files every time; `make fuzz` looks for new ones
KEYS = st.text(max_size=8) | st.integers(-(2**70), 2**70)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inside: st.lists(inside) | st.tuples(inside, inside) | st.dictionaries(KEYS, inside),
    max_leaves=30,
)


@pytest.mark.process
def test_damaged_files_are_read_or_refused(tmp_path):
    outcomes, stories = run_campaign(SEED, FILES, 600.0, tmp_path)
    assert not stories, stories[0]
    assert outcomes.total() == FILES
    assert outcomes[LIBRARY_DIED] <= 5, "known to happen about once in ten thousand files"
    counted = FILES - outcomes["not counted"]
    assert sum(count for name, count in outcomes.items() if name.endswith("read")) > counted // 50, "too blunt a damage"


@given(PLAIN, st.integers(3, 5))
def test_plain_pickles_are_read_as_python_reads_them(value, protocol):
    content = pickle.dumps(value, protocol)
    assert read_pickle(content, frozenset(), "it") == pickle.loads(content)


@given(
    arrays.arrays(st.sampled_from(["<f4", ">f8", "<f2", "<i8", ">i4", "|u1", "|b1"]), arrays.array_shapes(min_dims=0)),
    st.integers(0, 5),
    st.booleans(),
)
def test_arrays_are_read_as_numpy_reads_them(array, protocol, fortran):
    array = np.asfortranarray(array) if fortran else array
    read = as_array(read_pickle(pickle.dumps(array, protocol), GLOBALS, "it"), "it")
    assert (read.dtype, read.shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(read, array)


@given(st.binary(max_size=200))
def test_noise_is_refused(content):
    for read in (Archive, check_onnx):
        with pytest.raises(UserError, match="it: "):
            read(content, "it")


@given(st.binary(max_size=200))
@example(b"N.")
@example(b"(I1\nF2.5\nt.")
def test_noise_is_no_pickle_or_says_what_python_reads_there(content):
    """Two bytes of noise can be a pickle. What our machine takes holds no call, so Python may read it, too."""
    try:
        value = read_pickle(content, frozenset(), "it")
    except UserError:
        return
    assert repr(value) == repr(pickle.loads(content))


@given(st.text(min_size=1, max_size=30), st.text(min_size=1, max_size=30))
def test_every_other_name_is_refused(module, name):
    content = b"\x80\x04" + b"".join(b"X" + len(t).to_bytes(4, "little") + t for t in (_utf8(module), _utf8(name)))
    with pytest.raises(UserError, match="asks for"):
        read_pickle(content + b"\x93.", GLOBALS, "it")


def test_a_file_too_damaged_for_its_library_is_damaged_blindly(monkeypatch):
    """polars panics on some, which is no Exception."""

    def panics(content, rng, others):
        raise PanicException

    monkeypatch.setattr(mutate, "KNOWING", [(lambda content: True, panics)])
    assert any(mutate.mutate(b"PAR1", np.random.default_rng(seed), [b"x"]) != b"PAR1" for seed in range(5))


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
