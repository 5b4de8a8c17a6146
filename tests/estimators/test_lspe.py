"""LSPE against plain least squares, exact values, and problems on which it must refuse to answer."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ropeval.data import Dataset, Problem, Rows, Transitions, make_problem
from ropeval.estimators import linear_features
from ropeval.estimators.linear_features import LinearFeatures
from ropeval.estimators.lspe import LSPEConfig, Solution, estimate, solve
from ropeval.evaluation.evaluate import evaluate
from ropeval.learning.engine import Run, member_keys
from ropeval.learning.networks import MLP
from ropeval.learning.resample import Resamples
from ropeval.policies import CallablePolicy, Policy
from tests.problems import Chain, LinearQuadratic

RUN = Run(member_keys(0, 3), part="lspe")


def random_transitions(rows: int = 200, dim: int = 4, members: int | None = None, seed: int = 0) -> Transitions:
    """Features that mix slowly, so that the iteration converges, with one column that another repeats."""
    rng = np.random.default_rng(seed)
    lead = () if members is None else (members,)
    x = rng.standard_normal((*lead, rows, dim))
    next_x = 0.5 * x[..., None, :] + 0.3 * rng.standard_normal((*lead, rows, 3, dim))
    initial = rng.standard_normal((*lead, 11, 2, dim))
    x, next_x, initial = (np.concatenate([a, 2 * a[..., :1]], axis=-1) for a in (x, next_x, initial))
    reward, discount = rng.standard_normal(rows), np.where(rng.random(rows) < 0.1, 0.0, 0.9)
    arrays = [jnp.asarray(a, jnp.float32) for a in (x, next_x, reward, discount, initial)]
    return Transitions(Rows(*arrays[:4]), arrays[4], per_member=members is not None)


def solved(transitions: Transitions, intercept: bool) -> Solution:
    (data,) = LinearFeatures(transitions, intercept).moments()
    return solve(data, LSPEConfig())


def plain_least_squares(transitions: Transitions, intercept: bool, sweeps: int = 2000) -> float:
    """The definition, row by row, with NumPy's own pseudo-inverse."""
    x, next_x, reward, discount, initial = (
        np.asarray(a, np.float64) for a in (*transitions.rows[:4], transitions.initial_x)
    )
    next_x = next_x.mean(axis=1)
    initial = initial.reshape(-1, initial.shape[-1])
    if intercept:
        x, next_x, initial = (np.column_stack([a, np.ones(len(a))]) for a in (x, next_x, initial))
    inverse = np.linalg.pinv(x, rcond=1e-6)
    theta = np.zeros(x.shape[1])
    for _ in range(sweeps):
        theta = inverse @ (reward + discount * (next_x @ theta))
    return float((initial @ theta).mean())


@pytest.mark.parametrize("intercept", [True, False])
def test_agrees_with_plain_least_squares(intercept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    transitions = random_transitions()
    expected = plain_least_squares(transitions, intercept)
    for block in (linear_features.BLOCK, 7):
        monkeypatch.setattr(linear_features, "BLOCK", block)
        found = solved(transitions, intercept)
        assert found.estimate == pytest.approx(expected, abs=1e-8)
        assert found.converged
        assert found.rank == 4 + intercept  # the repeated column adds nothing
        assert found.radius < 1


def test_residual_is_the_rms_bellman_error() -> None:
    transitions = random_transitions()
    found = solved(transitions, True)
    q, following = (
        np.asarray(a, np.float64) @ found.theta[:-1] + found.theta[-1]
        for a in (transitions.rows.x, transitions.rows.next_x.mean(axis=1))
    )
    error = np.asarray(transitions.rows.reward) + np.asarray(transitions.rows.discount) * following - q
    assert found.residual == pytest.approx(np.sqrt(np.mean(error**2)), rel=1e-5)


def one_hot_problem(chain: Chain, log: Dataset, right: float) -> Problem:
    """Features: one per state-action pair, and at the next states their exact mean under the policy."""
    problem = make_problem(log, chain.policy(right), chain.gamma)
    state, following, first = (
        a.argmax(axis=1) for a in (log.observations, log.next_observations, log.initial_observations)
    )
    pair = np.eye(2 * chain.size)
    mean = np.zeros((chain.size, 2 * chain.size))  # [S, 2S]
    mean[np.arange(chain.size), 2 * np.arange(chain.size)] = 1 - right
    mean[np.arange(chain.size), 2 * np.arange(chain.size) + 1] = right
    rows = problem.transitions.rows._replace(
        x=jnp.asarray(pair[2 * state + log.actions], jnp.float32),
        next_x=jnp.asarray(mean[following][:, None], jnp.float32),
    )
    return replace(problem, features=Transitions(rows, jnp.asarray(mean[first][:, None], jnp.float32)))


def count_model_value(chain: Chain, log: Dataset, right: float) -> float:
    """q of the MDP of the counts, solved directly."""
    n = 2 * chain.size
    state, following = log.observations.argmax(axis=1), log.next_observations.argmax(axis=1)
    pair = 2 * state + log.actions
    P, r, count = np.zeros((n, n)), np.zeros(n), np.zeros(n)
    for i in range(len(log)):
        count[pair[i]] += 1
        r[pair[i]] += float(log.rewards[i])
        if not log.terminations[i]:
            P[pair[i], 2 * following[i]] += 1 - right
            P[pair[i], 2 * following[i] + 1] += right
    q = np.linalg.solve(np.eye(n) - chain.gamma * P / count[:, None], r / count)
    return float((1 - right) * q[0] + right * q[1])


def test_one_hot_features_give_the_value_of_the_counts() -> None:
    chain = Chain()
    log = chain.log(300)
    found = estimate(one_hot_problem(chain, log, 0.8), LSPEConfig(), RUN)
    assert found.values.shape == (1,)  # nothing is random
    assert found.values[0] == pytest.approx(count_model_value(chain, log, 0.8), abs=1e-6)
    assert found.values[0] == pytest.approx(chain.values(0.8)[1], abs=0.03)
    assert found.warnings == ()
    assert set(found.trained[0].curves) == {"estimate", "residual", "radius", "rank", "condition"}


def bandit(rows: int = 4000, actions: int = 5) -> tuple[Dataset, np.ndarray]:
    """One step, five arms, each best somewhere else: E[r|s, a] = w_a·s. Logged uniformly."""
    rng = np.random.default_rng(0)
    slopes = rng.standard_normal((actions, 2))
    states, taken = rng.standard_normal((rows, 2)), rng.integers(actions, size=rows)
    rewards = (states * slopes[taken]).sum(axis=1) + 0.1 * rng.standard_normal(rows)
    columns = {"observations": states, "actions": taken, "rewards": rewards, "next_observations": states}
    flags = {"terminations": np.ones(rows, bool), "truncations": np.zeros(rows, bool)}
    return Dataset.from_columns({**columns, **flags, "num_actions": np.array(actions)}), slopes


def test_discrete_actions_get_a_linear_model_each() -> None:
    """The best arm everywhere, and the worst: sums of a part for the state and one for the action cannot differ so."""
    log, slopes = bandit()
    worth = log.observations @ slopes.T  # [N, A]
    for choose, true in ((np.argmax, worth.max(axis=1).mean()), (np.argmin, worth.min(axis=1).mean())):
        policy = CallablePolicy(lambda o, c=choose: c(o @ slopes.T, axis=1), deterministic=True, name=choose.__name__)
        assert evaluate(log, policy, "lspe", gamma=0.9).value == pytest.approx(true, abs=0.02)


def test_products_of_one_hot_states_are_the_table_of_counts() -> None:
    """So raw features of the chain give the value in the MDP of the counts; a sure policy draws no actions."""
    chain = Chain()
    log = chain.log(300)
    assert evaluate(log, chain.policy(1.0), "lspe", gamma=0.9).value == pytest.approx(
        count_model_value(chain, log, 1.0), abs=1e-5
    )


def test_too_many_products_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    log, _ = bandit(200)
    policy = CallablePolicy(lambda o: np.zeros(len(o), int), deterministic=True, name="first")
    assert not any("products" in line for line in evaluate(log, policy, "lspe", gamma=0.9).warnings)
    monkeypatch.setattr(linear_features, "MOST_PRODUCTS", 14)  # of 5·(2 + 1)
    assert any("too many products" in line for line in evaluate(log, policy, "lspe", gamma=0.9).warnings)


def test_constant_reward_is_exact() -> None:
    log = LinearQuadratic().log(20)
    constant = replace(log, rewards=np.full_like(log.rewards, 2.0))
    answer = evaluate(constant, LinearQuadratic().policy(0.2), "lspe", gamma=0.9)
    assert answer.value == pytest.approx(20.0, rel=1e-8)
    assert not any("outside" in warning for warning in answer.warnings)  # of [20, 20], by rounding


def test_members_with_their_own_features_have_their_own_estimates() -> None:
    problem = make_problem(Chain().log(5), Chain.policy(0.8), 0.9)
    together = random_transitions(members=3)
    found = estimate(replace(problem, features=together), LSPEConfig(), RUN)
    assert len(found.values) == 3
    for member in range(3):
        rows = together.rows._replace(x=together.rows.x[member], next_x=together.rows.next_x[member])
        alone = estimate(replace(problem, features=Transitions(rows, together.initial_x[member])), LSPEConfig(), RUN)
        assert alone.values[0] == found.values[member]


class Doubling(Policy):
    """One feature: 1 in the logged state, 2 in the next. Iterated regression grows by 2γ with every sweep."""

    name, deterministic = "doubling", True
    discrete, action_size = True, 1

    def sample(self, observations: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.zeros(len(observations), np.int32)

    def features(self, observations: np.ndarray, actions: np.ndarray) -> np.ndarray:
        return 1.0 + observations


def test_divergence_is_named_with_its_spectral_radius() -> None:
    log = Dataset.from_columns(
        {
            "observations": np.zeros((30, 1)),
            "actions": np.zeros(30, int),
            "rewards": np.ones(30),
            "terminations": np.zeros(30),
            "truncations": np.ones(30),
            "next_observations": np.ones((30, 1)),
        }
    )
    answer = evaluate(log, Doubling(), "critic+lspe", gamma=0.9, settings={"lspe": {"intercept": False}})
    assert answer.value is None
    assert answer.members == [None]
    assert answer.diverged == [0]
    assert any("spectral radius is 1.8" in warning for warning in answer.warnings)
    # With γ below one half the same features are harmless: θ = 1/(1 − 2γ).
    answer = evaluate(log, Doubling(), "critic+lspe", gamma=0.25, settings={"lspe": {"intercept": False}})
    assert answer.members == [pytest.approx(2.0, rel=1e-6)]
    assert answer.value == pytest.approx(4.0 / 3.0, rel=1e-6)  # all that a reward of 1 allows


def test_what_is_not_converged_or_ill_conditioned_says_so() -> None:
    problem = replace(make_problem(Chain().log(5), Chain.policy(0.8), 0.9), features=random_transitions())
    assert "3 sweeps" in estimate(problem, LSPEConfig(sweeps=3), RUN).warnings[0]
    x = np.asarray(problem.transitions.rows.x).copy()
    x[:, -1] += 1e-4 * np.random.default_rng(1).standard_normal(len(x))
    nearly = replace(problem.transitions, rows=problem.transitions.rows._replace(x=jnp.asarray(x)))
    found = solved(nearly, True)
    assert found.condition > 1e8


def test_features_that_are_always_zero_are_worth_nothing() -> None:
    transitions = random_transitions()
    empty = Transitions(
        transitions.rows._replace(x=0 * transitions.rows.x, next_x=0 * transitions.rows.next_x),
        0 * transitions.initial_x,
    )
    found = solved(empty, False)
    assert (found.estimate, found.rank) == (0.0, 0)
    # With the intercept what is left is the constant that fits best: E[r] / (1 − E[γ]).
    reward, discount = (float(a.mean()) for a in (transitions.rows.reward, transitions.rows.discount))
    found = solved(empty, True)
    assert found.estimate == pytest.approx(reward / (1 - discount), rel=1e-5)


class TestWhatAnEncoderMadeOfDiscreteActions:
    """No feature of it is the code of an action, however it is kept: none is multiplied with the others."""

    @pytest.fixture
    def encoded(self):
        chain = Chain()
        problem = make_problem(chain.log(40), chain.policy(0.7), 0.9)
        assert problem.transitions.code == 2
        nets = jax.vmap(lambda key: MLP(key, problem.transitions.dim, 3, 8, 1))(member_keys(0, 2))
        return problem, nets

    def test_stored_and_made_batch_by_batch_they_come_to_the_same(self, encoded, monkeypatch):
        problem, nets = encoded
        found = []
        for room in (1 << 30, 0):
            monkeypatch.setattr("ropeval.data.transitions.held_bytes", lambda room=room: room)
            features = problem.transitions.with_encoder(nets)
            assert features.per_member is (room > 0)
            assert LinearFeatures(features, intercept=True).size == 4
            run = Run(member_keys(0, 2), part="lspe", resamples=Resamples(0, 40))
            found.append(estimate(replace(problem, features=features), LSPEConfig(), run).values)
        np.testing.assert_allclose(found[0], found[1], rtol=1e-4)

    def test_features_of_another_make_are_taken_as_they_are(self, encoded):
        problem, _ = encoded
        made = problem.with_features(lambda states, actions: np.column_stack([states, actions]).astype(np.float32))
        assert LinearFeatures(made, intercept=False).size == made.dim
