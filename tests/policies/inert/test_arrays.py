"""Arrays that a pickle describes: believed as far as the bytes are there."""

import pickle

import numpy as np
import pytest

from tests.policies.hostile import refusal, written


def numpy_array(shape=(2, 2), dtype=("f4", False, True), content=b"\0" * 16, fortran=False):
    """An array's pickle, by hand, so that it may say anything."""

    class State:
        def __reduce__(self):
            return (
                vars(np)["_core"].multiarray._reconstruct,
                (np.ndarray, (0,), b"b"),
                (1, shape, Kind(), fortran, content),
            )

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
