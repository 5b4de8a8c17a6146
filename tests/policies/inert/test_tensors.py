"""Tensors out of what torch writes, without torch: windows are believed where they lie inside their storage."""

import io
import pickle
import sys
import zipfile
from collections import OrderedDict
from types import ModuleType

import numpy as np
import pytest

from ropeval.errors import UserError
from ropeval.policies.inert.archives import Archive
from ropeval.policies.inert.tensors import read_tensors
from tests.policies.hostile import FILES


class Tensor:
    """As torch pickles one: a call with a storage, an offset, a size and strides."""

    def __init__(self, storage, *window):
        self.storage, self.window = storage, window

    def __reduce__(self):
        call = sys.modules["torch._utils"]._rebuild_tensor_v2
        return call, (self.storage, *self.window, False, OrderedDict())


class Storage:
    def __init__(self, key, kind):
        self.key, self.kind = key, kind


@pytest.fixture
def saved(monkeypatch):
    """What torch.save would write of these tensors and storages, read back."""
    for name in ("torch", "torch._utils"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))

    def rebuild(*arguments):
        raise AssertionError("it is never called")

    rebuild.__module__, rebuild.__qualname__ = "torch._utils", "_rebuild_tensor_v2"
    vars(sys.modules["torch._utils"])["_rebuild_tensor_v2"] = rebuild

    class Pickler(pickle.Pickler):
        def persistent_id(self, value):
            if not isinstance(value, Storage):
                return None
            kind = type(value.kind, (), {"__module__": "torch", "__qualname__": value.kind})
            setattr(sys.modules["torch"], value.kind, kind)
            return ("storage", kind, value.key, "cpu", 0)

    def save(tensors, storages, byteorder=b"little"):
        described, archive = io.BytesIO(), io.BytesIO()
        Pickler(described, 2).dump(OrderedDict(tensors))
        with zipfile.ZipFile(archive, "w") as file:
            file.writestr("a/data.pkl", described.getvalue())
            file.writestr("a/byteorder", byteorder)
            for key, content in storages.items():
                file.writestr(f"a/data/{key}", content)
        return read_tensors(Archive(archive.getvalue(), "file"))

    return save


NUMBERS = np.arange(6, dtype="<f4")


def test_windows_strides_and_shared_storages(saved):
    storage = Storage("0", "FloatStorage")
    tensors = {
        "rows": Tensor(storage, 0, (2, 3), (3, 1)),
        "columns": Tensor(storage, 0, (3, 2), (1, 3)),
        "inside": Tensor(storage, 2, (3,), (1,)),
        "number": Tensor(storage, 5, (), ()),
        "none": Tensor(storage, 6, (0, 4), (4, 1)),
    }
    found = saved(tensors, {"0": NUMBERS.tobytes()})
    np.testing.assert_array_equal(found["rows"], NUMBERS.reshape(2, 3))
    np.testing.assert_array_equal(found["columns"], NUMBERS.reshape(2, 3).T)
    np.testing.assert_array_equal(found["inside"], [2, 3, 4])
    assert (found["number"].shape, float(found["number"]), found["none"].shape) == ((), 5.0, (0, 4))


def test_other_types_and_the_other_byte_order(saved):
    halves = (NUMBERS.view("<u4") >> 16).astype("<u2")  # bfloat16: the upper half of a float32
    found = saved({"b": Tensor(Storage("0", "BFloat16Storage"), 0, (6,), (1,))}, {"0": halves.tobytes()})
    np.testing.assert_array_equal(found["b"], NUMBERS)
    big = saved(
        {"d": Tensor(Storage("0", "DoubleStorage"), 0, (6,), (1,))}, {"0": NUMBERS.astype(">f8").tobytes()}, b"big"
    )
    np.testing.assert_array_equal(big["d"], NUMBERS)


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (
            Tensor(Storage("0", "FloatStorage"), 0, (7,), (1,)),
            r"it declares size \(7,\) at offset 0, but its storage has 6",
        ),
        (Tensor(Storage("0", "FloatStorage"), 4, (3,), (1,)), "at offset 4"),
        (Tensor(Storage("0", "FloatStorage"), 0, (2, 2), (1,)), "make no tensor"),
        (Tensor(Storage("0", "FloatStorage"), -1, (2,), (1,)), "make no tensor"),
        (Tensor(Storage("0", "FloatStorage"), 0, (7,), (0,)), "it declares size"),
        (Tensor(Storage("0", "FloatStorage"), 0, [6], (1,)), "expected a few whole numbers"),
        (Tensor(Storage("../0", "FloatStorage"), 0, (6,), (1,)), "its storage is named text '../0'; expected a number"),
        (Tensor(Storage("0", "DoubleStorage"), 0, (9,), (1,)), "but its storage has 3"),
        (Tensor(None, 0, (6,), (1,)), "its storage is None"),
        (5, "expected a tensor, found 5"),
    ],
)
def test_what_is_no_tensor(saved, tensor, message):
    with pytest.raises(UserError, match=f"file: w: .*{message}"):
        saved({"w": tensor}, {"0": NUMBERS.tobytes()})


def test_the_networks_of_a_saved_policy():
    with zipfile.ZipFile(FILES / "sac.zip") as file:
        found = read_tensors(Archive(file.read("policy.pth"), "policy.pth"))
    assert found["actor.mu.weight"].shape[0] == found["actor.mu.bias"].shape[0] == 2
    assert all(np.isfinite(array).all() for array in found.values())
