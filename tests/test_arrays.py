"""Shapes in signatures, with every NumPy: `scripts/check_package.py` imports them with the newest ones."""

import re
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

import ropeval
from ropeval.arrays import Floats, Integers


def test_jaxtyping_takes_them():
    assert isinstance(np.zeros(3), Float[Floats, " n"])
    assert not isinstance(np.zeros((3, 1)), Float[Floats, " n"])
    assert isinstance(np.zeros(3, int), Int[Integers, " n"])


def test_no_shape_is_written_around_numpys_own_alias():
    files = Path(ropeval.__file__).parent.rglob("*.py")
    shaped = re.compile(r"\b(Float|Int|Bool|Shaped|Num)\[NDArray\b")
    assert [str(file) for file in files if shaped.search(file.read_text(encoding="utf-8"))] == []
