"""What all networks share."""

from ropeval.policies import GaussianMLP, load_policy
from tests.policies.samples import arrays, save


def test_the_hash_tells_policies_and_modes_apart(tmp_path):
    a, b = arrays(), arrays(layout="sb3")
    path = save(tmp_path, a)
    assert isinstance(load_policy(path), GaussianMLP)
    hashes = {
        load_policy(path).sha256,
        load_policy(f"{path}@mean").sha256,
        load_policy(save(tmp_path, b, "b.npz")).sha256,
    }
    assert len(hashes) == 3
