"""MDPs in `.npz` files: read back, and bad ones named."""

import numpy as np
import pytest

from ropeval.errors import UserError
from ropeval.tabular.files import load_npz
from tests.tabular.strategies import garnet


def test_npz_files_read_back_and_bad_ones_are_named(tmp_path):
    mdp, pi_e, _ = garnet(4, 2, 2, seed=0)
    good = {"P": mdp.P, "r": mdp.r, "d0": mdp.d0, "gamma": mdp.gamma, "pi_e": pi_e}
    path = tmp_path / "mdp.npz"
    np.savez(path, **good)
    read, policies = load_npz(path)
    np.testing.assert_array_equal(read.P, mdp.P)
    np.testing.assert_allclose(policies["pi_b"], 0.5)

    def refuse(message, **change):
        fields = {**good, **change}
        np.savez(path, **{name: value for name, value in fields.items() if value is not None})
        with pytest.raises(UserError, match=message):
            load_npz(path)

    refuse(r"mdp.npz: missing pi_e; the file holds P, d0, gamma, r", pi_e=None)
    refuse(r"mdp.npz: pi_b: shape \(4, 3\)", pi_b=np.ones((4, 3)))
    refuse(r"mdp.npz: gamma: 1.5", gamma=1.5)
    refuse(r"mdp.npz: r: not an array of numbers", r=np.full((4, 2), "x"))
    refuse(r"mdp.npz: cannot be read", r=np.array([[{}]], dtype=object))

    np.savez(path, **good)
    path.write_bytes(path.read_bytes()[:400])
    with pytest.raises(UserError, match="cut short"):
        load_npz(path)
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(UserError, match=r"text\.npz"):
        load_npz(tmp_path / "text.npz")
    np.save(tmp_path / "one.npy", np.ones(3))
    with pytest.raises(UserError, match="single array, not an"):
        load_npz(tmp_path / "one.npy")
    with pytest.raises(UserError, match="does not exist"):
        load_npz(tmp_path / "nothing.npz")
    with pytest.raises(UserError, match="is a folder"):
        load_npz(tmp_path)
