"""Files as `torch.save` writes them, without torch: a pickle that names tensors, and the numbers beside it."""

import io
import pickle
import sys
import types
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np


def state_dict(**tensors: np.ndarray) -> "OrderedDict[str, Any]":
    return OrderedDict((name.replace("__", "."), np.asarray(array, np.float32)) for name, array in tensors.items())


def torch_save(path: Path, content: Any) -> Path:
    """`content`: a state dict of arrays, a tuple of them, or a plain dict that holds one beside other things."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")

    class FloatStorage:
        __module__, __qualname__ = "torch", "FloatStorage"

    def _rebuild_tensor_v2(*args: Any) -> None: ...

    _rebuild_tensor_v2.__module__, _rebuild_tensor_v2.__qualname__ = "torch._utils", "_rebuild_tensor_v2"
    torch.FloatStorage, utils._rebuild_tensor_v2 = FloatStorage, _rebuild_tensor_v2  # type: ignore[attr-defined]
    storages: list[bytes] = []

    class Storage:
        def __init__(self, array: np.ndarray) -> None:
            self.key, self.size = str(len(storages)), array.size
            storages.append(array.tobytes())

    class Tensor:
        def __init__(self, array: np.ndarray) -> None:
            self.storage, self.shape = Storage(array), array.shape
            self.strides = tuple(step // 4 for step in array.strides)

        def __reduce__(self) -> Any:
            return _rebuild_tensor_v2, (self.storage, 0, self.shape, self.strides, False, OrderedDict())

    class Pickler(pickle.Pickler):
        def persistent_id(self, found: Any) -> Any:
            return ("storage", FloatStorage, found.key, "cpu", found.size) if isinstance(found, Storage) else None

    def tensors(found: Any) -> Any:
        if isinstance(found, tuple):
            return tuple(map(tensors, found))
        if isinstance(found, dict):
            return type(found)((name, tensors(held)) for name, held in found.items())
        return Tensor(np.ascontiguousarray(found)) if isinstance(found, np.ndarray) else found

    pickled = io.BytesIO()
    with mock.patch.dict(sys.modules, {"torch": torch, "torch._utils": utils}):
        Pickler(pickled, protocol=2).dump(tensors(content))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model/data.pkl", pickled.getvalue())
        for key, numbers in enumerate(storages):
            archive.writestr(f"model/data/{key}", numbers)
    return path
