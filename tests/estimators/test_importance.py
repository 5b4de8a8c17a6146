"""Importance sampling against plain loops, exact values, and what it must refuse."""

from dataclasses import replace

import numpy as np
import pytest

from ropeval.data import Dataset, make_problem
from ropeval.errors import UserError
from ropeval.estimators import ESTIMATORS
from ropeval.estimators.importance import ImportanceConfig
from ropeval.estimators.return_distribution import distribution
from ropeval.evaluation.evaluate import evaluate
from ropeval.evaluation.options import Options
from ropeval.evaluation.session import Session
from ropeval.learning.engine import Run, member_keys
from ropeval.policies import CallablePolicy, Policy, UniformPolicy
from ropeval.policies.policy import Space, log_probs
from tests.problems import Chain, LinearQuadratic

METHODS = ("is", "wis", "pdis", "wpdis")
RUN = Run(member_keys(0, 2))
QUICK = ImportanceConfig(steps=400, width=16, depth=1, batch=128, learning_rate=3e-3)


def uneven_log(seed: int = 0, log_probs: bool = True) -> Dataset:
    """Episodes of 0 to 7 steps with two numbers per action; some terminate, and one loses its only step."""
    rng = np.random.default_rng(seed)
    lengths = [3, 1, 7, 2, 5, 1, 4, 6]
    ends = np.concatenate([np.arange(n) == n - 1 for n in lengths])
    which = np.repeat(np.arange(len(lengths)), lengths)
    terminated = ends & np.isin(which, [0, 2, 5, 6])
    columns = {
        "observations": rng.standard_normal((len(ends), 3)),
        "actions": rng.standard_normal((len(ends), 2)),
        "rewards": rng.standard_normal(len(ends)),
        "terminations": terminated,
        "truncations": ends & ~terminated,  # their last steps are dropped: the successor is unknown
    }
    if log_probs:
        columns["log_probs"] = -2.0 + 0.5 * rng.standard_normal(len(ends))
    return Dataset.from_columns(columns)


def wide_policy() -> Policy:
    def log_prob(o, a):
        return (-0.5 * (np.asarray(a, float) - 0.3 * o[:, :2]) ** 2 - 0.5 * np.log(2 * np.pi)).sum(axis=1)

    return CallablePolicy(lambda o, rng: 0.3 * o[:, :2] + rng.standard_normal((len(o), 2)), False, "wide", log_prob)


def plain(data: Dataset, policy: Policy, gamma: float, method: str) -> float:
    """The definitions, step by step, with products instead of sums of logarithms."""
    assert data.log_probs is not None
    ratio = np.exp(policy.log_prob(data.observations, data.actions) - data.log_probs)
    count, longest = data.num_episodes, int(np.diff(data.starts).max())
    weight, reward = np.ones((count, longest)), np.zeros((count, longest))
    for e in range(count):
        product = 1.0
        for t in range(longest):
            row = data.starts[e] + t
            if row < data.starts[e + 1]:
                product *= ratio[row]
                reward[e, t] = data.rewards[row]
            weight[e, t] = product
    total = 0.0
    for e in range(count):
        for t in range(longest):
            if method == "is":
                total += weight[e, -1] * gamma**t * reward[e, t] / count
            if method == "wis":
                total += weight[e, -1] * gamma**t * reward[e, t] / weight[:, -1].sum()
            if method == "pdis":
                total += weight[e, t] * gamma**t * reward[e, t] / count
            if method == "wpdis":
                total += weight[e, t] * gamma**t * reward[e, t] / weight[:, t].sum()
    return total


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_agrees_with_plain_loops(method, seed):
    data, policy = uneven_log(seed), wide_policy()
    assert (np.diff(data.starts) == 0).any()
    found = evaluate(data, policy, method, gamma=0.95)
    assert found.members == pytest.approx([plain(data, policy, 0.95, method)], rel=1e-6, abs=1e-9)


@pytest.fixture(scope="module")
def repetitions():
    """The same question of a hundred logs, and the answer."""
    chain = Chain(size=2, gamma=0.7)
    logs = [chain.log(30, length=25, seed=seed, log_probs=True) for seed in range(100)]
    return [make_problem(log, chain.policy(0.8), chain.gamma) for log in logs], chain.values(0.8)[1]


@pytest.mark.parametrize("method", METHODS)
def test_chain_is_hit_within_the_standard_error_of_repetitions(repetitions, method):
    problems, truth = repetitions
    found = [ESTIMATORS[method](problem, ImportanceConfig(), RUN).values[0] for problem in problems]
    error = np.std(found) / np.sqrt(len(found))
    bias = 0.02 if method.startswith("w") else 0.0  # normalised weights are biased by the order of 1/E
    assert np.mean(found) == pytest.approx(truth, abs=4 * error + bias * abs(truth))


@pytest.mark.parametrize("method", METHODS)
def test_the_behaviour_itself_earns_the_mean_return(method):
    chain = Chain()
    data = chain.log(50, right=0.6, log_probs=True)
    mean = evaluate(data, chain.policy(0.6), "mean-return", gamma=chain.gamma).value
    assert evaluate(data, chain.policy(0.6), method, gamma=chain.gamma).value == pytest.approx(mean, abs=1e-5)


def test_products_beyond_floating_point_are_weighed():
    """Two episodes of 3,000 steps with ratios e^0.5: the weights are e^1500, and equal."""
    steps = 3000
    columns = {
        "observations": np.zeros((2 * steps, 1)),
        "actions": np.zeros((2 * steps, 1)),
        "rewards": np.repeat([1.0, 3.0], steps),
        "terminations": np.tile(np.arange(steps) == steps - 1, 2),
        "truncations": np.zeros(2 * steps, bool),
        "log_probs": np.full(2 * steps, -0.5),
    }
    data = Dataset.from_columns(columns)
    policy = CallablePolicy(lambda o, rng: np.zeros((len(o), 1)), False, "f", lambda o, a: np.zeros(len(o)))
    for method in ("wis", "wpdis"):
        assert evaluate(data, policy, method, gamma=0.9).value == pytest.approx(20.0)
    assert evaluate(data, policy, "is", gamma=0.9).value is None  # and not a traceback


# --- with a fitted behaviour policy ----------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.training
def test_fitted_behaviour_answers_as_the_logged_one(method):
    chain = Chain(size=3, gamma=0.8)
    settings = {method: QUICK.model_dump()}
    logged, fitted = (
        evaluate(chain.log(300, log_probs=p), chain.policy(0.7), method, gamma=0.8, members=2, settings=settings)
        for p in (True, False)
    )
    assert len(logged.members) == 1
    assert len(fitted.members) == 2
    assert fitted.value == pytest.approx(logged.value, abs=0.05)
    assert any("was fitted" in w for w in fitted.warnings)


@pytest.mark.training
def test_same_key_same_bits_and_members_do_not_meddle():
    chain = Chain(size=3)
    problem = make_problem(chain.log(300), chain.policy(0.7), chain.gamma)
    one, two, again = (ESTIMATORS["wis"](problem, QUICK, Run(member_keys(3, m))) for m in (1, 2, 2))
    assert one.values[0] == two.values[0]
    np.testing.assert_array_equal(two.values, again.values)
    assert two.values[0] != two.values[1]


# --- warnings and refusals ------------------------------------------------------------------------------------


def test_the_law_of_the_returns_has_the_weighted_mean():
    problem = make_problem(uneven_log(), wide_policy(), 0.95)
    for method in METHODS:
        found = ESTIMATORS[method](problem, QUICK, RUN)
        law = distribution(*found.returns, below=0.0)
        assert law["mean"] == pytest.approx(plain(problem.dataset, wide_policy(), 0.95, "wis"))
        assert law["cvar"] <= law["quantile"] <= law["quantiles"]["0.5"]


def test_without_a_weight_there_is_no_law_of_the_returns():
    chain = Chain()
    log = chain.log(5, right=0.5, log_probs=True)
    never = CallablePolicy(lambda o: np.full(len(o), 2), True, "never").fitted(replace(log.space, action_size=3))
    found = ESTIMATORS["wis"](make_problem(replace(log, num_actions=3), never, 0.9), QUICK, RUN)
    assert found.returns is None


@pytest.mark.parametrize("method", METHODS)
def test_effective_sample_size_is_in_every_result(method):
    chain = Chain()
    data = chain.log(40, log_probs=True)
    calm, wild = (evaluate(data, chain.policy(p), method, gamma=chain.gamma) for p in (0.5, 0.99))
    assert any("effective sample size 40 of 40 episodes" in w for w in calm.warnings)
    assert any("effective sample size" in w and "decide everything" in w for w in wild.warnings)


@pytest.mark.parametrize("method", METHODS)
def test_actions_that_the_policy_never_takes(method):
    data = uneven_log()
    data = Dataset(**(data.__dict__ | {"starts": np.array([0, len(data)]), "initial_observations": np.zeros((1, 3))}))
    policy = UniformPolicy(100.0, 101.0)
    found = evaluate(data, policy, method, gamma=0.9)
    assert any("never takes the logged actions" in w for w in found.warnings)
    assert found.value == (None if method.startswith("w") else 0.0)


def test_cut_off_returns_are_named():
    lq = LinearQuadratic()
    found = evaluate(lq.log(30, log_probs=True), lq.policy(0.5), "pdis", gamma=0.9)
    assert any("35% of the discounted horizon lies beyond" in w for w in found.warnings)
    chain = Chain(size=2, gamma=0.7)
    found = evaluate(chain.log(30, log_probs=True), chain.policy(0.5), "pdis", gamma=0.7)
    assert not any("beyond" in w for w in found.warnings)


@pytest.mark.parametrize("method", [*METHODS, "dr", "wdr"])
def test_deterministic_policies_of_continuous_actions_are_refused(method):
    lq = LinearQuadratic()
    with pytest.raises(UserError, match="deterministic, so its actions have no densities"):
        evaluate(lq.log(5), lq.policy(0.0), method)


@pytest.mark.parametrize("method", METHODS)
def test_deterministic_choices_have_the_probabilities_0_and_1(method):
    chain = Chain(size=2, gamma=0.7)
    found = evaluate(chain.log(2000, log_probs=True), chain.policy(1.0), method, gamma=0.7, resample=False)
    assert found.value == pytest.approx(chain.values(1.0)[1], abs=0.03)
    assert found.policy_kind == "deterministic"


def test_a_choice_that_no_episode_made_has_no_weighted_estimate():
    chain = Chain(size=6)
    found = evaluate(chain.log(10, log_probs=True), chain.policy(1.0), "wis")
    assert found.value is None
    assert ("effective-sample-size", "severe") in {(f.code, f.severity) for f in found.diagnosis}


def test_refused_before_any_training():
    """The first question could be answered; none is, since the last one cannot."""
    chain = Chain()
    silent = CallablePolicy(lambda o, rng: rng.integers(2, size=len(o)), deterministic=False, name="silent")
    options = Options(method=("mean-reward", "rope+dr"), gamma=0.9, members=1)
    with pytest.raises(UserError, match="silent: it cannot tell the probability"):
        Session(chain.log(5), [chain.policy(0.5), silent], options)


def test_log_probs_that_are_none():
    space = Space(1, 2, discrete=True)

    def ask(answer):
        policy = CallablePolicy(lambda o, rng: np.zeros(len(o), int), False, "odd", lambda o, a: answer)
        return log_probs(policy.fitted(space), np.zeros((2, 1), np.float32), np.zeros(2, np.int32))

    np.testing.assert_array_equal(ask([[-1.0], [-2.0]]), [-1.0, -2.0])
    for answer, complaint in (
        (np.zeros((2, 2)), "shape"),
        ([0.0, np.nan], "nan"),
        ([0.0, 0.3], "0.3"),
        (["a", "b"], "not numbers"),
    ):
        with pytest.raises(UserError, match=complaint):
            ask(answer)
    failing = CallablePolicy(lambda o, rng: None, False, "failing", lambda o, a: 1 / 0)
    with pytest.raises(UserError, match="ZeroDivisionError"):
        failing.log_prob(np.zeros((2, 1), np.float32), np.zeros(2))


def test_a_function_may_carry_its_log_prob():
    def act(o, rng):
        return rng.integers(2, size=len(o))

    assert not CallablePolicy(act, False).has_log_prob
    vars(act)["log_prob"] = lambda o, a: np.full(len(o), np.log(0.5))
    assert CallablePolicy(act, False).has_log_prob


def test_uniform_log_prob():
    states = np.zeros((3, 1), np.float32)
    box = UniformPolicy([-1.0, 0.0], [1.0, 4.0]).fitted(
        Space(1, 2, False, np.zeros(2, np.float32), np.ones(2, np.float32))
    )
    actions = np.array([[0.0, 1.0], [-1.0, 4.0], [0.0, 5.0]], np.float32)
    np.testing.assert_allclose(box.log_prob(states, actions), [-np.log(8), -np.log(8), -np.inf])
    four = UniformPolicy(num_actions=4)
    np.testing.assert_allclose(four.log_prob(states, np.arange(3)), np.full(3, -np.log(4)))
    flat = UniformPolicy().fitted(Space(1, 1, False, np.zeros(1, np.float32), np.zeros(1, np.float32)))
    with pytest.raises(UserError, match="no width"):
        flat.log_prob(states, np.zeros((3, 1)))
