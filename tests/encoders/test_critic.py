"""Features from a policy's own critic: read from its file, scaled as it was trained, refused where absent."""

from pathlib import Path

import numpy as np
import pytest

from ropeval.data import Dataset, make_problem
from ropeval.encoders.critic import CRITIC, CriticConfig
from ropeval.errors import UserError
from ropeval.evaluation.evaluate import evaluate
from ropeval.learning.engine import Run, member_keys
from ropeval.policies import Policy, UniformPolicy, load_policy
from tests.problems import LinearQuadratic

RUN = Run(member_keys(0, 2))


def sac_arrays(states: int = 2, actions: int = 1, width: int = 8, bounds: float | None = None) -> dict[str, np.ndarray]:
    """What Stable-Baselines3 saves of a SAC policy, in small."""
    rng = np.random.default_rng(0)
    arrays = {}

    def layer(name: str, inputs: int, outputs: int) -> None:
        arrays[f"{name}/weight"] = rng.standard_normal((outputs, inputs)).astype(np.float32) / np.sqrt(inputs)
        arrays[f"{name}/bias"] = rng.standard_normal(outputs).astype(np.float32)

    layer("actor/latent_pi/0", states, width)
    layer("actor/mu", width, actions)
    layer("actor/log_std", width, actions)
    for net in ("critic/qf0", "critic/qf1", "critic_target/qf0", "critic_target/qf1"):
        layer(f"{net}/0", states + actions, width)
        layer(f"{net}/2", width, width + 1)
        layer(f"{net}/4", width + 1, 1)
    if bounds is not None:
        arrays |= {"action_low": np.full(actions, -bounds), "action_high": np.full(actions, bounds)}
    return arrays


def save(path: Path, arrays: dict[str, np.ndarray]) -> Policy:
    np.savez(path, **arrays)
    return load_policy(path)


def by_hand(arrays: dict[str, np.ndarray], observations: np.ndarray, actions: np.ndarray) -> np.ndarray:
    h = np.concatenate([observations, actions], axis=-1)
    for place in (0, 2):
        weight, bias = (arrays[f"critic_target/qf0/{place}/{part}"] for part in ("weight", "bias"))
        h = np.maximum(h @ weight.T + bias, 0)
    return h


def test_features_are_the_target_critics_last_hidden_layer(tmp_path: Path) -> None:
    arrays = sac_arrays()
    policy = save(tmp_path / "sac.npz", arrays)
    log = LinearQuadratic().log(7)
    assert policy.has_features
    expected = by_hand(arrays, log.observations, log.actions)
    np.testing.assert_allclose(policy.features(log.observations, log.actions), expected, rtol=1e-5, atol=1e-6)

    problem = make_problem(log, policy, 0.9, draws=3)
    encoded = CRITIC(problem, CriticConfig(), RUN).transitions
    scale = np.sqrt(np.mean(expected.astype(np.float64) ** 2))
    assert encoded.members is None  # nobody has features of their own
    assert encoded.rows.next_x.shape == (len(log), 3, 9)
    np.testing.assert_allclose(encoded.rows.x, expected / scale, rtol=1e-4, atol=1e-5)
    draw = np.asarray(problem.transitions.rows.next_x)[:, 1, 2:]  # the second drawn action, as it is
    expected = by_hand(arrays, log.next_observations, draw) / scale
    np.testing.assert_allclose(encoded.rows.next_x[:, 1], expected, rtol=1e-4, atol=1e-5)


def test_actions_reach_the_critic_in_its_own_scale(tmp_path: Path) -> None:
    arrays = sac_arrays(bounds=4.0)
    policy = save(tmp_path / "sac.npz", arrays)
    observations, actions = np.ones((3, 2), np.float32), np.array([[-4.0], [0.0], [2.0]], np.float32)
    expected = by_hand(arrays, observations, actions / 4)
    np.testing.assert_allclose(policy.features(observations, actions), expected, rtol=1e-5, atol=1e-6)


def test_hash_of_the_policy_knows_the_critic(tmp_path: Path) -> None:
    arrays = sac_arrays()
    first = save(tmp_path / "a.npz", arrays)
    arrays["critic_target/qf0/2/bias"] = arrays["critic_target/qf0/2/bias"] + 1
    assert save(tmp_path / "b.npz", arrays).sha256 != first.sha256


@pytest.mark.training
def test_composes_with_estimators(tmp_path: Path) -> None:
    policy = save(tmp_path / "sac.npz", sac_arrays())
    log = LinearQuadratic().log(20)
    shared = evaluate(log, policy, "critic+lspe", gamma=0.5)
    assert len(shared.members) == 1  # features without randomness: one estimate
    small = {"fqe": {"width": 8, "depth": 1, "steps": 20, "batch": 16}}
    assert len(evaluate(log, policy, "critic+fqe", gamma=0.5, members=2, settings=small).members) == 2


def test_refuses_a_policy_without_a_critic(tmp_path: Path) -> None:
    log = LinearQuadratic().log(5)
    without = save(tmp_path / "plain.npz", {k: v for k, v in sac_arrays().items() if not k.startswith("critic")})
    for policy in (without, UniformPolicy()):
        with pytest.raises(UserError, match="no action-value network"):
            evaluate(log, policy, "critic+lspe", gamma=0.9)
        with pytest.raises(UserError, match="no features"):
            policy.features(log.observations, log.actions)


def test_refuses_a_critic_of_another_shape(tmp_path: Path) -> None:
    arrays = sac_arrays()
    arrays["critic_target/qf0/0/weight"] = np.ones((8, 5), np.float32)
    with pytest.raises(UserError, match="layer 0 of its critic"):
        save(tmp_path / "odd.npz", arrays)
    arrays = sac_arrays()
    del arrays["critic_target/qf0/2/bias"]
    with pytest.raises(UserError, match="missing critic_target/qf0/2/bias"):
        save(tmp_path / "cut.npz", arrays)


class BadFeatures(UniformPolicy):
    def features(self, observations: np.ndarray, actions: np.ndarray) -> np.ndarray:
        return np.ones(len(observations))


def test_refuses_features_of_a_wrong_shape() -> None:
    with pytest.raises(UserError, match="its features have shape"):
        evaluate(LinearQuadratic().log(5), BadFeatures(), "critic+lspe", gamma=0.9)


def test_a_published_policy_has_its_critic(shared_policies: Path) -> None:
    policy = load_policy(shared_policies / "cheetah_model_sac_420000_steps.npz")
    rng = np.random.default_rng(0)
    log = Dataset.from_columns(
        {
            "observations": rng.standard_normal((40, 17)),
            "actions": rng.uniform(-1, 1, (40, 6)),
            "rewards": rng.standard_normal(40),
            "terminations": np.zeros(40),
            "truncations": np.arange(40) % 10 == 9,
            "next_observations": rng.standard_normal((40, 17)),
        }
    )
    with np.load(shared_policies / "cheetah_model_sac_420000_steps.npz") as file:
        expected = by_hand(dict(file), log.observations, log.actions)
    features = policy.features(log.observations, log.actions)
    assert features.shape == (40, 256)
    np.testing.assert_allclose(features, expected, rtol=1e-4, atol=1e-4)
    deep_ope = load_policy(shared_policies / "hopper_online_10.npz")
    assert not deep_ope.has_features
