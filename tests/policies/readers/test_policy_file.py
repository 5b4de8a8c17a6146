"""A file, and what its user said about it."""

import pytest

from ropeval.errors import UserError
from ropeval.policies.readers.policy_file import PolicyFile
from tests.policies.hostile import FILES


def test_names_and_archives():
    file = PolicyFile.open(FILES / "sac.zip", None, False)
    assert (file.name, file.where) == ("sac", f"policy {FILES / 'sac.zip'}")
    assert "policy.pth" in file.archive.members
    assert PolicyFile.open(FILES / "sac.zip", "mean", False).name == "sac@mean"
    assert PolicyFile.open(FILES / "free_batch.onnx", None, False).archive is None


def test_an_empty_file_is_no_policy(tmp_path):
    (tmp_path / "p.npz").touch()
    with pytest.raises(UserError, match="the file is empty; copy it again"):
        PolicyFile.open(tmp_path / "p.npz", None, False)


def test_modes_that_mean_nothing_here():
    file = PolicyFile.open(FILES / "sac.zip", "offset", False)
    with pytest.raises(UserError, match="it acts at once, so that @offset means nothing here; leave it out"):
        file.refuse_modes_but(("mean",), "acts at once")
    file.refuse_modes_but(("mean", "offset"), "…")
    PolicyFile.open(FILES / "sac.zip", None, False).refuse_modes_but((), "…")
