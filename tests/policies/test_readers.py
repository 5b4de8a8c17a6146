"""Foreign policy files, read without their libraries, answer as their libraries do.

`files/` was made by scripts/make_policy_fixtures.py and scripts/make_onnx_fixtures.py, which also asked
Stable-Baselines3, d3rlpy and torch for the answers.
"""

import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, stats

from ropeval.data import Dataset, make_problem
from ropeval.encoders.critic import critic_features
from ropeval.errors import UserError
from ropeval.policies import (
    CategoricalMLP,
    ClippedGaussianMLP,
    GaussianMLP,
    GreedyMLP,
    NormalisedPolicy,
    TanhMLP,
    load_policy,
)

FILES = Path(__file__).parent / "files"
RNG = np.random.default_rng(0)
LOW, HIGH = np.float32([-2, 0]), np.float32([2, 10])


@pytest.fixture(scope="module")
def expected():
    with np.load(FILES / "expected.npz") as file:
        return dict(file)


STABLE_BASELINES = {
    "sac": ("sac.zip@mean", GaussianMLP),
    "sac_tanh": ("sac_tanh.zip@mean", GaussianMLP),
    "td3": ("td3.zip", TanhMLP),
    "dqn": ("dqn.zip", GreedyMLP),
    "ppo": ("ppo.zip@mean", ClippedGaussianMLP),
    "ppo_normalised": (f"ppo_normalised.zip+{FILES / 'vecnormalize.pkl'}@mean", NormalisedPolicy),
    "ppo_discrete": ("ppo_discrete.zip@mean", CategoricalMLP),
    "a2c_flat": ("a2c_flat.zip@mean", ClippedGaussianMLP),
}


@pytest.mark.parametrize("name", STABLE_BASELINES)
def test_actions_are_those_of_stable_baselines3(name, expected):
    spec, kind = STABLE_BASELINES[name]
    policy = load_policy(f"{FILES / spec}")
    assert isinstance(policy, kind)
    assert policy.deterministic
    actions = policy.sample(expected["observations"], RNG)
    np.testing.assert_allclose(actions, expected[f"{name}/action"], rtol=1e-5, atol=2e-6)
    assert np.unique(actions, axis=0).shape[0] > 1, "a constant policy would agree by accident"


def test_observations_in_parts_are_flattened_as_gymnasium_does(expected):
    policy = load_policy(f"{FILES / 'ppo_parts.zip'}@mean")
    observations = expected["ppo_parts/observations"].astype(np.float32)
    assert policy.observation_size == observations.shape[1] == 2 + 3 + 2
    actions = policy.sample(observations, RNG)
    np.testing.assert_allclose(actions, expected["ppo_parts/action"], rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("name", ["sac", "sac_tanh", "ppo", "ppo_normalised", "ppo_discrete", "a2c_flat"])
def test_log_probabilities_are_those_of_stable_baselines3(name, expected):
    policy = load_policy(f"{FILES / STABLE_BASELINES[name][0]}".removesuffix("@mean"))
    actions = np.arange(20) % 4 if policy.discrete else expected["actions"]
    assert policy.has_log_prob
    np.testing.assert_allclose(
        policy.log_prob(expected["observations"], actions), expected[f"{name}/log_prob"], rtol=2e-4
    )


@pytest.mark.parametrize("name", ["sac", "sac_tanh", "td3"])
def test_features_are_the_critics_last_hidden_layer(name, expected):
    policy = load_policy(f"{FILES / STABLE_BASELINES[name][0]}")
    features = policy.features(expected["observations"], expected["actions"])
    np.testing.assert_allclose(features, expected[f"{name}/features"], rtol=1e-4, atol=1e-5)


def test_a_greedy_policys_values_are_linear_in_its_features(expected):
    policy = load_policy(FILES / "dqn.zip")
    pairs = [policy.features(expected["observations"], np.full(20, a)) for a in range(4)]
    weight, bias = policy.weights["output"]
    values = np.stack([pair @ weight.reshape(-1) + bias[a] for a, pair in enumerate(pairs)], axis=1)
    np.testing.assert_allclose(values, expected["dqn/values"], rtol=1e-4, atol=1e-5)


def test_the_critic_encoder_takes_a_greedy_policys_features(columns):
    """φ of a logged pair: the state's hidden layer, in the block of the logged action."""
    log = Dataset.from_columns(columns | {"actions": np.arange(12) % 4})
    policy = load_policy(FILES / "dqn.zip")
    pairs = make_problem(log, policy, 0.9).transitions.rows.x[:, None]
    features = critic_features(policy, log.observations, pairs, discrete=True)  # [12, 1, 4·3]
    blocks = features.reshape(12, 4, 3)
    np.testing.assert_array_equal(
        blocks[np.arange(12), log.actions], policy.hidden(np, policy.weights, log.observations)
    )
    assert np.count_nonzero(blocks.any(axis=-1).sum(axis=1) > 1) == 0


def test_without_their_critic_the_on_policy_family_has_no_features():
    assert not load_policy(FILES / "ppo.zip").has_features


def test_stochastic_policies_sample_what_they_say(expected):
    observation = np.repeat(expected["observations"][:1], 20_000, axis=0)
    categorical = load_policy(FILES / "ppo_discrete.zip")
    drawn = np.bincount(categorical.sample(observation, RNG), minlength=4) / len(observation)
    np.testing.assert_allclose(drawn, np.exp(categorical.log_probs(observation[:1])[0]), atol=0.02)
    clipped = load_policy(FILES / "ppo.zip")
    actions = clipped.sample(observation, RNG)
    assert (actions >= LOW).all()
    assert (actions <= HIGH).all()
    mean, std = clipped.distribution(observation[:1])
    mean = mean[0]
    inside = stats.norm.cdf(HIGH, mean, std) - stats.norm.cdf(LOW, mean, std)
    np.testing.assert_allclose(((actions > LOW) & (actions < HIGH)).mean(axis=0), inside, atol=0.02)


def test_a_clipped_gaussians_faces_and_inside_add_up_to_one(expected):
    """One coordinate: the masses on both faces and the density between them are a whole distribution."""
    weight, bias = np.zeros((1, 3), np.float32), np.float32([0.4])
    policy = ClippedGaussianMLP([], (weight, bias), np.float32([0.3]), (np.float32([-1]), np.float32([1.5])))
    observation = expected["observations"][:1]
    at = lambda a: np.exp(policy.log_prob(observation, np.array([[a]]))[0])  # noqa: E731
    between, _ = integrate.quad(at, -1 + 1e-9, 1.5 - 1e-9)
    assert at(-1.0) + between + at(1.5) == pytest.approx(1, abs=1e-6)
    assert at(1.6) == 0


def test_normalised_policies_take_raw_observations(expected):
    spec = f"{FILES / 'ppo_normalised.zip'}+{FILES / 'vecnormalize.pkl'}"
    policy = load_policy(spec)
    scaled = policy.statistics.apply(expected["observations"])
    assert np.abs(scaled).max() == 2.0, "the clip is part of it"
    raw = load_policy(f"{FILES / 'ppo_normalised.zip'}+none@mean")
    np.testing.assert_array_equal(
        raw.sample(scaled, RNG), load_policy(f"{spec}@mean").sample(expected["observations"], RNG)
    )
    assert policy.sha256 != raw.sha256
    np.testing.assert_array_equal(policy.box, (LOW, HIGH))


def test_statistics_from_plain_arrays(tmp_path, expected):
    statistics = load_policy(f"{FILES / 'ppo_normalised.zip'}+{FILES / 'vecnormalize.pkl'}").statistics
    np.savez(tmp_path / "s.npz", mean=statistics.mean, var=statistics.variance, clip=2.0)
    one = load_policy(f"{FILES / 'ppo_normalised.zip'}+{FILES / 'vecnormalize.pkl'}@mean")
    other = load_policy(f"{FILES / 'ppo_normalised.zip'}+{tmp_path / 's.npz'}@mean")
    observations = expected["observations"]
    np.testing.assert_array_equal(one.sample(observations, RNG), other.sample(observations, RNG))


def deep_ope(nonlinearity="relu", output="tanh_gaussian", protocol=4, **changes):
    rng = np.random.default_rng(1)
    shapes = {"fc0": (8, 3), "fc1": (7, 8), "last_fc": (2, 7), "last_fc_log_std": (2, 7)}
    content = {}
    for name, shape in shapes.items():
        content[f"{name}/weight"] = rng.standard_normal(shape).astype(np.float32) / 2
        content[f"{name}/bias"] = rng.standard_normal(shape[0]).astype(np.float32) / 4
    content |= {"nonlinearity": nonlinearity, "output_distribution": output} | changes
    return content, pickle.dumps({k: v for k, v in content.items() if v is not None}, protocol)


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize(("nonlinearity", "output"), [("relu", "tanh_gaussian"), ("tanh", "gaussian")])
def test_deep_ope_pickles_of_every_protocol(tmp_path, protocol, nonlinearity, output):
    content, data = deep_ope(nonlinearity, output, protocol)
    path = tmp_path / "policy.pkl"
    path.write_bytes(data)
    act = np.tanh if nonlinearity == "tanh" else lambda x: np.maximum(x, 0)
    observations = RNG.standard_normal((30, 3)).astype(np.float32)
    h = observations
    for name in ("fc0", "fc1"):
        h = act(h @ content[f"{name}/weight"].T + content[f"{name}/bias"])
    mean = h @ content["last_fc/weight"].T + content["last_fc/bias"]
    squash = np.tanh if output == "tanh_gaussian" else lambda x: x
    np.testing.assert_allclose(
        load_policy(f"{path}@mean").sample(observations, RNG), squash(mean), rtol=1e-5, atol=1e-6
    )
    if output == "gaussian":
        policy = load_policy(path)
        std = np.exp(h @ content["last_fc_log_std/weight"].T + content["last_fc_log_std/bias"])
        actions = RNG.standard_normal((30, 2))
        np.testing.assert_allclose(
            policy.log_prob(observations, actions), stats.norm.logpdf(actions, mean, std).sum(axis=1), rtol=1e-4
        )
        assert policy.box is None


@pytest.fixture
def native_policies(shared_policies):
    return shared_policies.parent / "reference" / "policies"


@pytest.mark.parametrize(
    "name",
    [f"{task}_online_{n}" for task in ("hopper", "walker", "halfcheetah") for n in (5, 10)]
    + [f"cheetah_model_sac_{n}_steps" for n in (60000, 420000)]
    + [f"swimmer_model_sac_{n}_steps" for n in (220000, 350000)],
)
def test_published_policies_agree_with_their_arrays(native_policies, shared_policies, name):
    (path,) = native_policies.glob(f"{name}.*")
    native, arrays = load_policy(path), load_policy(shared_policies / f"{name}.npz")
    observations = RNG.standard_normal((64, native.observation_size)).astype(np.float32)
    ours, theirs = (p.sample(observations, np.random.default_rng(1)) for p in (native, arrays))
    np.testing.assert_allclose(ours, theirs, atol=2e-7)  # the zip has a box of ±1, and scaling by one rounds
    if "sac" in name:
        np.testing.assert_allclose(
            native.features(observations, ours), arrays.features(observations, theirs), atol=1e-4
        )
    else:
        assert native.sha256 == arrays.sha256


# --- ONNX ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def expected_onnx():
    pytest.importorskip("onnxruntime", reason="the onnx extra is not installed")
    with np.load(FILES / "expected_onnx.npz") as file:
        return dict(file)


@pytest.mark.parametrize(
    ("file", "answer"), [("d3rlpy_td3", "td3"), ("d3rlpy_dqn", "dqn"), ("free_batch", "free_batch")]
)
def test_onnx_answers_as_its_maker(file, answer, expected_onnx):
    policy = load_policy(FILES / f"{file}.onnx")
    assert policy.kind == "deterministic"
    actions = policy.sample(expected_onnx["observations"], RNG)
    np.testing.assert_allclose(actions, expected_onnx[answer], rtol=1e-5, atol=1e-6)
    assert np.unique(actions, axis=0).shape[0] > 1
    assert policy.sha256 == load_policy(FILES / f"{file}.onnx").sha256


def test_onnx_policies_become_problems(columns, expected_onnx):
    discrete = Dataset.from_columns(columns | {"actions": np.arange(12) % 4})
    problem = make_problem(discrete, load_policy(FILES / "d3rlpy_dqn.onnx"), 0.9)
    assert problem.transitions.rows.next_x.shape == (12, 1, 3 + 4)
    make_problem(Dataset.from_columns(columns), load_policy(FILES / "free_batch.onnx"), 0.9)


def test_onnx_without_onnxruntime_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(UserError, match=r"pip install 'ropeval\[onnx\]'"):
        load_policy(FILES / "free_batch.onnx")


def test_torch_is_never_imported():
    assert "torch" not in sys.modules
    assert "stable_baselines3" not in sys.modules
