"""Published policies: a hash for each form of each."""

import pytest

from ropeval.bench.data.published import SHA256, published


def test_every_hash_is_whole_and_stands_there_once():
    assert len(SHA256) == 2 * (21 + 4)
    assert all(len(digest) == 64 and set(digest) <= set("0123456789abcdef") for digest in SHA256.values())
    assert len(set(SHA256.values())) == len(SHA256)


@pytest.mark.parametrize(("name", "form"), [("hopper_online_10", ".pkl"), ("swimmer_model_sac_350000_steps", ".zip")])
def test_a_policy_is_found_in_both_forms(name, form):
    found = published(name, "somebody", "mean")
    assert list(found.files) == [name + form, f"{name}.npz"]
    assert (found.origin, found.mode) == ("somebody", "mean")


def test_a_name_that_is_not_listed_is_no_policy():
    with pytest.raises(ValueError, match="either spec"):
        published("hopper_online_1", "somebody", "mean")
