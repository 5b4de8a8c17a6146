"""A policy inside a compiled program acts as it does outside: every file that is shipped, and every fixture."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ropeval
from ropeval.policies import CallablePolicy, GreedyMLP, NormalisedPolicy, Space, UniformPolicy, load_policy
from ropeval.policies.networks import ACTIVATIONS
from tests.policies.hostile import FILES
from tests.policies.samples import written_deep_ope

SHIPPED = Path(ropeval.__file__).parent
NETWORKS = [
    *(SHIPPED / "demo" / "policies").glob("*.npz"),
    *(SHIPPED / "bench" / "data" / "policies").glob("*.npz"),
    *(path for path in FILES.glob("*.zip") if path.stem not in ("sac_sde", "ppo_normalised")),
    f"{FILES / 'ppo_normalised.zip'}+{FILES / 'vecnormalize.pkl'}",
]
STATES = 200


def states(policy, seed=0):
    """Observations [n, S] as the policy may have met them."""
    spread = np.random.default_rng(seed).standard_normal((STATES, policy.observation_size))
    if isinstance(policy, NormalisedPolicy):
        spread = policy.statistics.mean + spread * np.sqrt(policy.statistics.variance)
    return spread.astype(np.float32)


@jax.jit
def act(policy, observations, key):
    return policy.act(policy.params, observations, key)


def check_mean_actions(policy):
    observations = states(policy)
    ours = np.asarray(act(policy.compiled(), observations, jax.random.key(0)))
    theirs = policy.sample(observations, np.random.default_rng(0))
    if policy.discrete:
        assert ours.dtype == np.int32
        assert (ours == theirs).mean() > 0.99, "apart from ties, where rounding decides"
    else:
        assert ours.dtype == np.float32
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
    assert len(np.unique(ours, axis=0)) > 1


def check_draws(policy, count=4000):
    """Mean and spread of many draws in a few states, against as many of `sample`."""
    observations = states(policy)[:3]
    keys = jax.random.split(jax.random.key(1), count)
    compiled = policy.compiled()
    ours = np.asarray(jax.vmap(lambda key: compiled.act(compiled.params, observations, key))(keys))
    rng = np.random.default_rng(1)
    theirs = np.stack([policy.sample(observations, rng) for _ in range(count)])
    if policy.discrete:
        expected = policy.action_probabilities(observations)  # [3, A]
        found = np.stack([np.bincount(ours[:, i], minlength=policy.action_size) for i in range(3)]) / count
        np.testing.assert_allclose(found, expected, atol=0.04)
        return
    error = 5 * theirs.std(axis=0) / np.sqrt(count) + 1e-6
    assert (np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) < 2 * error).all()
    np.testing.assert_allclose(ours.std(axis=0), theirs.std(axis=0), rtol=0.15, atol=1e-5)


@pytest.mark.parametrize("file", NETWORKS, ids=lambda file: Path(file).name)
def test_it_acts_as_sample_does(file):
    policy = load_policy(file)
    check_mean_actions(load_policy(f"{file}@mean"))
    if not policy.deterministic:
        check_draws(policy)


@pytest.mark.parametrize("mode", ["mean", "offset"])
@pytest.mark.parametrize("output", ["tanh_gaussian", "gaussian"])
@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_deep_ope_files_act_as_sample_does(tmp_path, activation, output, mode):
    check_mean_actions(load_policy(f"{written_deep_ope(tmp_path, activation, output)}@{mode}"))


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation(activation):
    rng = np.random.default_rng(0)
    layers = [(rng.standard_normal(s).astype(np.float32), rng.standard_normal(s[0]).astype(np.float32))
              for s in ((8, 3), (5, 8))]  # fmt: skip
    policy = GreedyMLP(layers[:1], layers[1], activation=activation)
    compiled, observations = policy.compiled(), states(policy)
    scores = jax.vmap(lambda x: policy.output(jnp, compiled.params, x))(observations)
    np.testing.assert_allclose(scores, policy.output(np, policy.weights, observations), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("file", ["dqn.zip", "ppo_discrete.zip", "ppo_discrete.zip@mean"])
def test_probabilities_of_discrete_actions(file):
    policy = load_policy(FILES / file)
    compiled, observations = policy.compiled(), states(policy)
    chances = np.asarray(compiled.probabilities(compiled.params, observations))
    np.testing.assert_allclose(chances, policy.action_probabilities(observations), atol=1e-5)
    np.testing.assert_allclose(chances.sum(axis=1), 1, atol=1e-5)


def test_uniform_over_a_box_and_over_a_set():
    box = UniformPolicy([-1, 0], [1, 10]).fitted(Space(3, 2, False)).compiled()
    actions = np.asarray(act(box, np.zeros((20_000, 3), np.float32), jax.random.key(0)))
    assert box.probabilities is None
    np.testing.assert_allclose(actions.min(axis=0), [-1, 0], atol=0.01)
    np.testing.assert_allclose(actions.max(axis=0), [1, 10], atol=0.01)
    np.testing.assert_allclose(actions.mean(axis=0), [0, 5], atol=0.1)
    choice = UniformPolicy().fitted(Space(3, 4, True)).compiled()
    actions = np.asarray(act(choice, np.zeros((20_000, 3), np.float32), jax.random.key(0)))
    np.testing.assert_allclose(np.bincount(actions, minlength=4) / 20_000, np.full(4, 0.25), atol=0.02)
    np.testing.assert_array_equal(choice.probabilities(choice.params, np.zeros((2, 3))), np.full((2, 4), 0.25))


def test_policies_of_one_family_share_a_program_and_can_be_stacked():
    compilations = []

    @jax.jit
    def traced(policy, observations, key):
        compilations.append(policy)
        return policy.act(policy.params, observations, key)

    early, final = (
        load_policy(f"{SHIPPED / 'bench' / 'data' / 'policies' / f'hopper_sac_{name}.npz'}@mean")
        for name in ("early", "final")
    )
    observations, key = states(early), jax.random.key(0)
    one, other = traced(early.compiled(), observations, key), traced(final.compiled(), observations, key)
    assert len(compilations) == 1
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), early.compiled(), final.compiled())
    both = jax.vmap(lambda policy: policy.act(policy.params, observations, key))(stacked)
    np.testing.assert_allclose(both, np.stack([one, other]), atol=1e-5)
    noisy = load_policy(f"{SHIPPED / 'bench' / 'data' / 'policies' / 'hopper_sac_early.npz'}@stochastic")
    traced(noisy.compiled(), observations, key)
    assert len(compilations) == 2, "another mode is another program"


def test_a_mean_far_from_zero_is_not_lost():
    """(s − mean)/std with a mean 10⁵ times the spread: what float32 cannot hold of the mean counts."""
    policy: Any = load_policy(f"{FILES / 'ppo_normalised.zip'}+{FILES / 'vecnormalize.pkl'}@mean")
    mean = np.array([1e5 + 0.123456, -3e4 - 0.0123, 7.0])
    far = NormalisedPolicy(policy.inside, type(policy.statistics)(mean, np.full(3, 1e-2)))
    observations = (mean + 0.1 * np.random.default_rng(0).standard_normal((STATES, 3))).astype(np.float32)
    ours = act(far.compiled(), observations, jax.random.key(0))
    np.testing.assert_allclose(ours, far.sample(observations, np.random.default_rng(0)), rtol=1e-4, atol=1e-4)


def test_functions_have_none():
    function = CallablePolicy(lambda o: o[:, :1], deterministic=True)
    assert function.compiled() is None
    normalised: Any = load_policy(NETWORKS[-1])
    assert NormalisedPolicy(function, normalised.statistics).compiled() is None


@pytest.mark.process
def test_policies_are_read_without_jax():
    program = f"import sys, ropeval; ropeval.load_policy({str(FILES / 'sac.zip')!r}); print('jax' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
