"""ROPE and its rivals: their sampled targets against the exact operators, and what each refuses."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ropeval.data import Dataset, Problem, make_problem
from ropeval.encoders.metrics import METRICS, followed, mico, policy_signal, psm, random_metric, rope
from ropeval.encoders.similarity import (
    Metric,
    SimilarityNet,
    distance,
    sampled_target,
)
from ropeval.errors import UserError
from ropeval.evaluation.evaluate import evaluate
from ropeval.policies import CallablePolicy, UniformPolicy
from ropeval.tabular import metrics
from ropeval.tabular.mdp import TabularMDP
from tests.problems import Chain, LinearQuadratic
from tests.tiny import draws_for, own, tiny_log, tiny_settings

CHAIN = Chain(size=3, terminates=False)
RIGHT = 0.8
TENTHS = 10  # the chain's probabilities are multiples of 0.1, so ten rows per pair hold them exactly


def complete_log(next_actions: bool) -> Dataset:
    """Every outcome of every pair in its exact proportion; with both next actions after each, if wanted."""
    P, r = CHAIN.tables()
    rows = []
    for s in range(CHAIN.size):
        for a in range(2):
            for to in np.repeat(np.arange(CHAIN.size), np.round(TENTHS * P[s, a, : CHAIN.size]).astype(int)):
                for b in range(2) if next_actions else [None]:
                    rows.append((s, a, r[s, a], to, b is None))
                    if b is not None:
                        rows.append((to, b, r[to, b], to, True))
    state, action, reward, following, last = (np.array(c) for c in zip(*rows, strict=True))
    eye = np.eye(CHAIN.size)
    return Dataset.from_columns(
        {
            "observations": eye[state],
            "actions": action,
            "rewards": reward,
            "terminations": np.zeros(len(rows)),
            "truncations": last,
            "next_observations": eye[following],
        }
    )


def exact_policy() -> CallablePolicy:
    """Five draws of it hold its probabilities exactly: right, right, right, right, left."""
    calls = iter(range(10_000))
    return CallablePolicy(
        lambda o, rng: np.full(len(o), int(next(calls) % 5 < 4)),
        deterministic=False,
        name="right 0.8",
        log_prob=lambda o, a: np.log(np.where(a == 1, RIGHT, 1 - RIGHT)),
    )


def tabular() -> TabularMDP:
    P, r = CHAIN.tables()
    return TabularMDP(P[:, :, : CHAIN.size], r, d0=np.eye(CHAIN.size)[0], gamma=CHAIN.gamma)


PI_E, PI_B = np.tile([1 - RIGHT, RIGHT], (CHAIN.size, 1)), np.full((CHAIN.size, 2), 0.5)
CASES: dict[str, tuple[bool, Callable[[Problem], Metric], Callable[[TabularMDP], metrics.StateActionMetric]]] = {
    "rope": (False, rope, lambda m: metrics.rope(m, PI_E)),
    "mico": (True, mico, lambda m: metrics.mico(m, PI_B)),
    "psm": (False, psm, lambda m: metrics.psm(m, PI_E)),
    "random-metric": (False, random_metric, metrics.random_policy),
}


@pytest.mark.parametrize("name", list(CASES))
def test_sampled_targets_have_the_mean_of_the_exact_operator(name: str) -> None:
    next_actions, make, exact = CASES[name]
    problem = make_problem(complete_log(next_actions), exact_policy(), CHAIN.gamma, draws=5)
    metric, beta = make(problem), jnp.float32(1.0)
    phi = SimilarityNet(jax.random.key(0), problem.transitions.dim, 4, 16, 1)
    x, next_x, signal = map(jnp.asarray, metric.transitions.rows[:3])
    count = len(x)
    first, second = (a.reshape(-1) for a in np.meshgrid(np.arange(count), np.arange(count), indexing="ij"))

    def targets(key: jax.Array) -> jax.Array:
        """One sampled target for every pair of rows, [count²]."""
        chosen = metric.next_pair(jnp.stack([next_x[first], next_x[second]]), key, None)
        operator = partial(sampled_target, gamma=CHAIN.gamma, beta=beta, scale=jnp.float32(1.0))
        return jax.vmap(operator, in_axes=1)(jnp.stack([signal[first], signal[second]]), phi(chosen))

    mean = jax.lax.map(targets, jax.random.split(jax.random.key(1), 60)).mean(axis=0).reshape(count, count)
    pair = 2 * np.asarray(x[:, : CHAIN.size]).argmax(axis=1) + np.asarray(x[:, CHAIN.size :]).argmax(axis=1)
    member = np.eye(2 * CHAIN.size)[pair]  # [count, N] which pair a row belongs to
    weight = member / member.sum(axis=0)
    sampled = weight.T @ np.asarray(mean, np.float64) @ weight  # [N, N]

    rows = np.array([np.flatnonzero(pair == n)[0] for n in range(2 * CHAIN.size)])
    encoded = phi(x[rows])
    current = jax.vmap(lambda a: jax.vmap(lambda b: distance(a, b, beta))(encoded))(encoded)
    np.testing.assert_allclose(sampled, exact(tabular()).operator(np.asarray(current)), atol=0.02)


# --- MICo -----------------------------------------------------------------------------------------------------


def test_mico_takes_the_next_rows_action_and_keeps_terminated_rows() -> None:
    chain = Chain()
    log = chain.log(40, length=8)
    problem = make_problem(log, chain.policy(0.8), chain.gamma)
    found, known = mico(problem).transitions, followed(log)
    rows = found.rows
    keep = np.flatnonzero(known | log.terminations)
    assert 0 < log.terminations.sum() < (~known).sum()
    assert len(rows.reward) == len(log) - log.truncations.sum()
    kept = [np.flatnonzero((known | log.terminations)[a:b]).size for a, b in itertools.pairwise(log.starts)]
    np.testing.assert_array_equal(np.diff(found.starts), kept)  # the episodes among the rows that are left
    actions = np.asarray(rows.next_x)[:, 0, 5:].argmax(axis=1)
    inside = known[keep]
    np.testing.assert_array_equal(actions[inside], log.actions[keep[inside] + 1])
    np.testing.assert_array_equal(np.asarray(rows.next_x)[:, 0, :5].argmax(1), log.next_observations[keep].argmax(1))


def test_mico_refuses_a_log_without_next_actions() -> None:
    with pytest.raises(UserError, match="mico needs the behaviour's next action"):
        evaluate(complete_log(next_actions=False), exact_policy(), "mico+lspe", gamma=0.9)


# --- PSM ------------------------------------------------------------------------------------------------------


def test_psm_signal_is_the_probability_of_a_discrete_action() -> None:
    log = complete_log(next_actions=False)
    signal = policy_signal(make_problem(log, exact_policy(), 0.9))
    np.testing.assert_allclose(signal, np.where(log.actions == 1, 0.8, 0.2), rtol=1e-6)
    signal = policy_signal(make_problem(log, Chain.policy(1.0), 0.9))
    np.testing.assert_array_equal(signal, log.actions)


def test_psm_signal_of_a_density_is_bounded_and_has_no_unit() -> None:
    lq = LinearQuadratic()
    log, sharp = lq.log(20), lq.policy(1e-3)
    signal = policy_signal(make_problem(log, sharp, 0.9))
    assert signal.min() >= 0
    assert signal.max() <= 1
    wide = policy_signal(make_problem(log, lq.policy(0.5), 0.9))
    density = lq.log_density(log.observations, log.actions, 0.5)
    assert (np.argsort(density) == np.argsort(wide)).mean() > 0.95  # up to ties in single precision
    # The same policy in thousandths of the unit.
    scaled = replace(log, actions=1000 * log.actions)
    same = CallablePolicy(
        lambda o, rng: 1000 * lq.policy(0.5).sample(o, rng),
        deterministic=False,
        log_prob=lambda o, a: lq.log_density(o, a / 1000, 0.5) - np.log(1000),
    )
    np.testing.assert_allclose(policy_signal(make_problem(scaled, same, 0.9)), wide, atol=1e-4)
    uniform = policy_signal(make_problem(log, UniformPolicy(), 0.9))
    np.testing.assert_allclose(uniform, 0.5, atol=1e-3)  # no more likely than a uniform choice


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        (LinearQuadratic().policy(0.0), "deterministic"),
        (CallablePolicy(lambda o, rng: o[:, :1], deterministic=False, name="mute"), "no log_prob"),
    ],
)
def test_psm_refuses_a_policy_without_probabilities(policy: CallablePolicy, why: str) -> None:
    with pytest.raises(UserError, match=why):
        evaluate(LinearQuadratic().log(5), policy, "psm+lspe", gamma=0.9)


# --- all of them, trained -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [entry.name for entry in METRICS if entry.name != "rope"])
@pytest.mark.parametrize("kind", ["discrete", "continuous"])
@pytest.mark.training
def test_runs_by_name(name: str, kind: str) -> None:
    log = tiny_log(kind)
    policy = Chain().policy(0.8) if kind == "discrete" else LinearQuadratic().policy(0.3)
    ask = partial(
        evaluate,
        log,
        policy,
        f"{name}+lspe",
        gamma=0.9,
        settings=own(f"{name}+lspe", tiny_settings()),
        draws=draws_for(log),
    )
    answer = ask(members=2)
    assert np.isfinite(answer.members).all()
    assert answer.members[0] != answer.members[1]
    assert ask(members=2).members == answer.members  # same key, same bits
    assert ask(members=1).members[0] == pytest.approx(answer.members[0], abs=1e-4)  # whoever else is there
    assert {row["stage"] for row in answer.curves} == {name, "lspe"}
