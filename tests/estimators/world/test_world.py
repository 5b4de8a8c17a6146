"""The estimator where answers are known, and where there is little to know."""

import numpy as np
import pytest

from ropeval.bench.data.worlds import inventory
from ropeval.data import Dataset, Log, make_problem
from ropeval.errors import UserError
from ropeval.estimators import ESTIMATORS
from ropeval.estimators.world import (
    MOST_OFTEN,
    WorldConfig,
    first_states,
    horizon_for,
    initial_counts,
    lifetime,
    rollouts_for,
)
from ropeval.evaluation.evaluate import answer, evaluate
from ropeval.evaluation.groups import make_groups
from ropeval.evaluation.methods import make_method, make_methods
from ropeval.evaluation.options import Options
from ropeval.learning.engine import Run, member_keys
from ropeval.policies import CallablePolicy
from tests.estimators.world.logs import QUICK, SMALL, log_of, resampled
from tests.problems import Chain, LinearQuadratic
from tests.tiny import tiny_log

pytestmark = pytest.mark.training
IDLE = CallablePolicy(lambda o: np.zeros((len(o), 1)), deterministic=True, name="idle")


def ask(log, policy, gamma=0.9, members=2, chosen=QUICK, method="world", **options):
    return evaluate(log, policy, method, gamma=gamma, members=members, settings={"world": chosen}, **options)


# --- exact answers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("right", [0.7, 1.0])
def test_lands_on_the_chain(right):
    """Within 0.05 of values of about 0.3 and 0.6, for stochastic and deterministic policies, from one-hot states."""
    chain = Chain(size=3, gamma=0.8)
    log = chain.log(500, length=20)
    found = ask(log, chain.policy(right), gamma=0.8, chosen=SMALL, risk=0.1, below=0.5)
    assert found.value == pytest.approx(chain.values(right)[1], abs=0.05)
    assert found.extras["fallback"] < 0.01
    check_risk(found, chain, right)
    apart = chain.values(right)[1] - chain.values(0.5)[1]  # the log's, and that of actions at random
    assert found.signs["differ"] * found.signs["scale"] == pytest.approx(apart, abs=0.1)
    for replay in found.extras["replays"]:  # step by step, since chance plays a part; what ended counts up to there
        assert replay["predicted"] == pytest.approx(replay["logged"], abs=0.1)
        assert not replay["open_loop"]
    alive = np.array(found.extras["survival"]["share"])
    assert (np.diff(alive) <= 0).all()
    assert alive[0] == 1.0


def check_risk(found, chain, right):
    """Quantiles, the mean of the worst tenth and the chance of less than 0.5, against played episodes of the chain
    itself. Their returns lie on few values, with gaps: a quantile may fall on the neighbour."""
    played = chain.log(4000, length=60, right=right, seed=7)
    time = np.arange(len(played)) - np.repeat(played.starts[:-1], np.diff(played.starts))
    returns = np.add.reduceat(chain.gamma**time * played.rewards, played.starts[:-1])
    risk = found.extras["risk"]
    assert risk["mean"] == pytest.approx(found.extras["simulated"], rel=1e-6)
    assert risk["below"]["probability"] == pytest.approx((returns < 0.5).mean(), abs=0.05)
    worst = np.sort(returns)[: len(returns) // 10]
    assert risk["cvar"] == pytest.approx(worst.mean(), abs=0.08)
    for share, value in risk["quantiles"].items():
        low, high = np.quantile(returns, [max(0, float(share) - 0.05), min(1, float(share) + 0.05)])
        assert low - 0.05 <= value <= high + 0.05, share


@pytest.mark.parametrize("noise", [0.1, 0.5])
@pytest.mark.parametrize("sigma", [0.0, 0.5])
def test_lands_on_the_linear_quadratic_problem(sigma, noise):
    """Within 10 %, although all episodes are cut off after ten steps; with noise 0.5 most of it is noise."""
    problem = LinearQuadratic(noise=noise)
    log = problem.log(600)
    found = ask(log, problem.policy(sigma), chosen=SMALL, by="observations[0]")
    assert found.value == pytest.approx(problem.value_at(log.initial_observations, sigma), rel=0.1)
    assert found.extras["noisy_columns"]
    exact = [problem.value_at(log.initial_observations[held], sigma) for _, held in make_groups(log, "observations[0]")]
    assert max(exact) - min(exact) > 1.0
    for group, value in zip(found.groups, exact, strict=True):
        assert group.value == pytest.approx(value, rel=0.15)


def risked(episodes: int = 300, length: int = 15) -> Dataset:
    """s' = s + a·ε with a of 0 or 1 and ε ~ N(0, 1), rewards −s²: who risks nothing stays where it is."""
    rng = np.random.default_rng(0)
    state, columns = rng.standard_normal(episodes), []
    for _ in range(length):
        action = rng.integers(2, size=episodes)
        following = state + action * rng.standard_normal(episodes)
        columns.append((state, following, action, -(state**2)))
        state = following
    states, following, actions, rewards = (np.stack(each, axis=1).ravel() for each in zip(*columns, strict=True))
    cuts = np.arange(episodes * length) % length == length - 1
    return log_of(states[:, None], following[:, None], actions=actions, rewards=rewards, cuts=cuts)


@pytest.mark.parametrize("risk", [0, 1])
def test_noise_is_that_of_what_the_policy_does(risk):
    """E[s_t²] = s₀² + a·t, so the value is −E[s₀²]/(1 − γ) − a·γ/(1 − γ)². One noise for all would make both the
    same, half way between: −15, where they are −5 and −25."""
    log, gamma = risked(), 0.8
    policy = CallablePolicy(lambda o: np.full(len(o), risk), deterministic=True)
    found = ask(log, policy, gamma=gamma, chosen=SMALL)
    start = float((log.initial_observations**2).mean())
    assert found.value == pytest.approx(-start / (1 - gamma) - risk * gamma / (1 - gamma) ** 2, rel=0.15)


def test_constant_reward_for_ever_is_exact():
    log = tiny_log("continuous")
    log = Dataset(**(log.__dict__ | {"rewards": np.full(len(log), 2.0, np.float32)}))
    found = ask(log, LinearQuadratic().policy(0.5))
    assert found.value == pytest.approx(20.0, rel=1e-5)
    assert found.members == pytest.approx([20.0, 20.0], rel=1e-5)


def play(table, policies, episodes: int, length: int) -> Dataset:
    """Every policy's episodes in a world of the suite, cut off after `length` steps."""
    rng = np.random.default_rng(0)
    state = rng.choice(len(table.d0), (len(policies), episodes), p=table.d0)
    steps = []
    for _ in range(length):
        seen = table.observations[state].astype(np.float32)
        action = np.stack([policy.sample(own, rng) for policy, own in zip(policies, seen, strict=True)])
        reach = table.P[state, action].cumsum(axis=-1)
        following = (reach <= rng.random(state.shape)[..., None] * reach[..., -1:]).sum(axis=-1)
        reward = table.rewards[state, action, following]
        steps.append((seen, action, reward, table.observations[following]))
        state = following
    seen, action, reward, following = (
        np.stack(column, axis=2).reshape(-1, *column[0].shape[2:]) for column in zip(*steps, strict=True)
    )
    return log_of(seen, following, action, reward, cuts=np.arange(len(seen)) % length == length - 1)


def test_lands_on_the_suites_inventory():
    """Within a tenth of what lies between its weakest policy and its best, from a log of weak and good decisions."""
    table, policies = inventory.world(), inventory.policies
    log = play(table, [policies.weak, policies.good], episodes=100, length=inventory.TIME_LIMIT)
    truth = {name: table.answer(getattr(policies, name), inventory.GAMMA, 1).discounted for name in ("weakest", "best")}
    once, method = Log(log, inventory.GAMMA), make_method("world", {"world": SMALL | {"rollouts": 256}})
    for name, value in truth.items():
        found = answer(once.problem(getattr(policies, name), draws=1), method, Options(members=2))
        assert found.value == pytest.approx(value, abs=0.1 * (truth["best"] - truth["weakest"]))


# --- members, horizons, first states --------------------------------------------------------------------------


def test_same_key_same_bits_and_members_do_not_meddle():
    question = make_problem(tiny_log("continuous"), LinearQuadratic().policy(0.5), 0.9)
    config = WorldConfig(**QUICK)
    one, two, again = (ESTIMATORS["world"](question, config, Run(member_keys(3, m))).values for m in (1, 2, 2))
    np.testing.assert_array_equal(two, again)
    assert one[0] == pytest.approx(two[0], rel=1e-4)
    assert two[0] != two[1]


def test_a_broken_member_is_named():
    question = make_problem(tiny_log("continuous"), LinearQuadratic().policy(0.5), 0.9)
    run = Run(member_keys(0, 2), settings={"world.learning_rate": [1e-3, 1e30]}).of("world")
    found = ESTIMATORS["world"](question, WorldConfig(**QUICK), run)
    assert np.isfinite(found.value)
    assert np.isfinite(found.values[0])
    assert np.isnan(found.values[1])
    assert any("member 1 broke" in line for line in found.warnings)


def test_all_members_broken_is_no_number():
    question = make_problem(tiny_log("continuous"), LinearQuadratic().policy(0.5), 0.9)
    found = ESTIMATORS["world"](question, WorldConfig(**QUICK | {"learning_rate": 1e30}), Run(member_keys(0, 2)))
    assert found.value is None
    assert np.isnan(found.values).all()
    assert any("member 0, 1 broke" in line for line in found.warnings)


def test_horizon():
    assert horizon_for(0.0, 2000) == 1
    assert 0.99 ** horizon_for(0.99, 2000) <= 1e-3 < 0.99 ** (horizon_for(0.99, 2000) - 1)
    assert horizon_for(0.99999, 2000) == 2000


def test_without_a_future_the_first_reward_is_all():
    """γ = 0: the estimate is the mean reward of first steps, whatever comes after."""
    log = LinearQuadratic().log(600)
    found = ask(log, LinearQuadratic().policy(0.5), gamma=0.0, chosen=SMALL)
    first = log.initial_observations
    expected = -((first**2).sum(axis=1) + 0.5 * ((first @ LinearQuadratic.K.T)[:, 0] ** 2 + 0.25)).mean()
    assert found.value == pytest.approx(expected, rel=0.1)


def test_every_member_starts_where_its_own_log_does():
    """A member never starts from an episode that it has not seen; joint rollouts start from all alike."""
    log = tiny_log("continuous")
    problem, run = make_problem(log, LinearQuadratic().policy(0.5), 0.9), resampled(log)
    values = np.zeros((3, log.num_episodes), np.float32)
    starts = first_states(problem, initial_counts(problem, run), 2 * log.num_episodes, values)
    number = {tuple(state): place for place, state in enumerate(log.initial_observations)}
    for states, counts in zip(starts, [*run.counts, np.ones(log.num_episodes, int)], strict=True):
        met = np.bincount([number[tuple(state)] for state in states], minlength=log.num_episodes)
        np.testing.assert_array_equal(met, 2 * counts)


def test_few_rollouts_start_from_states_that_are_worth_what_all_are():
    """32 of 1000 first states, a tenth of which are worth a hundred times the others."""
    rng = np.random.default_rng(0)
    states = np.where(rng.random((1000, 1)) < 0.1, 100.0, 1.0) + 0.01 * rng.standard_normal((1000, 1))
    log = log_of(states, ends=np.ones(1000, bool), cuts=np.zeros(1000, bool))
    problem = make_problem(log, IDLE.fitted(log.space), 0.0)
    found = first_states(problem, np.ones((1, 1000), int), 32, log.initial_observations.T)
    assert found.mean() == pytest.approx(states.mean(), rel=0.1)
    assert len(np.unique(found)) == 32


def test_where_episodes_are_short_there_are_more_rollouts():
    ends = np.arange(200) % 10 == 9
    short = log_of(np.zeros((200, 1)), ends=ends, cuts=np.zeros(200, bool))
    cut = log_of(np.zeros((200, 1)), ends=ends & (np.arange(200) < 190), cuts=np.arange(200) == 199)
    assert (lifetime(short, 500), lifetime(short, 3), lifetime(cut, 500)) == (10, 3, 500)
    assert rollouts_for(short, 500, "cpu", True) == MOST_OFTEN * rollouts_for(cut, 500, "cpu", True)


def test_sizes_follow_the_log_and_the_device():
    config = WorldConfig()
    assert config.sizes(100, "cpu").steps == 1000
    assert config.sizes(10**9, "cpu").steps < config.sizes(10**9, "gpu").steps == 60_000
    assert config.sizes(100, "gpu").width > config.sizes(100, "cpu").width
    assert WorldConfig(steps=7, batch=3, width=5, depth=4).sizes(10**9, "gpu")[:4] == (7, 3, 5, 4)


def test_a_member_without_a_group_does_not_answer_for_it():
    log = tiny_log("continuous")
    question, run = make_problem(log, LinearQuadratic().policy(0.5), 0.9), resampled(log)
    only = np.arange(log.num_episodes) == np.flatnonzero((run.counts[0] == 0) & (run.counts[1] > 0))[0]
    found = ESTIMATORS["world"](question, WorldConfig(**QUICK), run).among(only)
    assert np.isnan(found.values).tolist() == [True, False]
    value, replicates = found.answer(np.zeros(2, bool))
    assert np.isfinite(value)
    assert np.isfinite(replicates).tolist() == [False, True]


# --- little to know, and bad input ----------------------------------------------------------------------------


def test_the_old_name_is_an_alias():
    found = evaluate(tiny_log("continuous"), IDLE, "model", gamma=0.9, members=2, settings={"world": QUICK})
    assert found.method == "world"
    assert [method.name for method in make_methods(Options(method=("model", "fqe", "world")))] == ["world", "fqe"]


def test_a_log_of_one_step():
    """One reward was ever seen, so it is all that can be expected; and that one step is little is said."""
    log = log_of(np.array([[1.0, 2.0]]), np.array([[1.5, 2.0]]), rewards=np.array([3.0]))
    found = ask(log, IDLE, gamma=0.5)
    assert found.value == pytest.approx(6.0, rel=1e-3)
    assert any("only 1 logged" in line for line in found.warnings)


def test_a_log_of_one_episode_says_so():
    found = ask(LinearQuadratic().log(1, length=600), LinearQuadratic().policy(0.5))
    assert any("only 1 logged" in line for line in found.warnings)


def test_constant_states():
    """Nothing ever changes but the reward, whose mean it is."""
    rng = np.random.default_rng(0)
    ends = np.arange(600) % 10 == 9
    states = np.full((600, 3), 4.0)
    log = log_of(states, states, rng.uniform(-1, 1, (600, 1)), rng.normal(2.0, 0.1, 600), cuts=ends)
    found = ask(log, IDLE)
    assert found.value == pytest.approx(20.0, rel=0.05)


def test_actions_outside_what_was_logged_are_said():
    wild = CallablePolicy(lambda o: np.full((len(o), 1), 50.0), deterministic=True, name="wild")
    found = ask(tiny_log("continuous"), wild)
    assert any("extrapolation" in line for line in found.warnings)
    assert np.isfinite(found.value)


def test_discrete_actions_that_the_log_does_not_have_are_refused():
    third = CallablePolicy(lambda o: np.full(len(o), 2), deterministic=True, name="third")
    with pytest.raises(UserError, match="third"):
        ask(tiny_log("discrete"), third)


@pytest.mark.parametrize("column", ["observations", "rewards", "next_observations"])
def test_what_is_not_a_number_is_refused(column):
    log = tiny_log("continuous")
    columns = {name: getattr(log, name) for name in (
        "observations", "actions", "rewards", "terminations", "truncations", "next_observations")}  # fmt: skip
    spoilt = columns[column].copy()
    spoilt[3] = np.nan
    with pytest.raises(UserError, match=column):
        Dataset.from_columns(columns | {column: spoilt})
