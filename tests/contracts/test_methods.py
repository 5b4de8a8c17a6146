"""What every method must satisfy, whoever wrote it. A new name in a registry is tested here without further words."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ropeval
from ropeval.bench.run.study import load_study
from ropeval.data import make_problem
from ropeval.encoders import ENCODERS
from ropeval.estimators import ESTIMATORS
from ropeval.estimators.fqe import FQEConfig
from ropeval.evaluation.evaluate import answer
from ropeval.evaluation.fit import fit
from ropeval.evaluation.methods import available_methods, make_method, parts
from ropeval.evaluation.options import Options
from ropeval.learning.engine import Run, member_keys
from ropeval.policies import CallablePolicy
from tests.problems import Chain, LinearQuadratic
from tests.tiny import draws_for, own, settings, tiny_log, tiny_settings

RECIPE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "extending.md"  # its method is one like any other
METHODS = [*ESTIMATORS, *(f"{encoder}+fqe" for encoder in ENCODERS), "ridge"]
COMPOSED = [f"rope+{name}" for name, entry in ESTIMATORS.items() if entry.takes_features and name != "fqe"]
IMPORTANCE = ("is", "wis", "pdis", "wpdis")


@pytest.fixture(autouse=True)
def method_of_the_page(request):
    """What the page on extending writes down is registered while it is looked at."""
    if "ridge" not in request.node.name:
        yield
        return
    block = re.search(
        r"^```python file=ridge.py\n(.*?)^```", RECIPE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    exec(compile(block[1], RECIPE.name, "exec"), {"__name__": "__page__"})  # our own page
    yield
    del ESTIMATORS["ridge"]


class Knowing(CallablePolicy):
    """A policy with an action-value network, for `critic` to look into."""

    def features(self, observations, actions):
        code = np.asarray(actions, np.float32).reshape(len(observations), -1)
        return np.concatenate([observations, code, np.ones((len(code), 1), np.float32)], axis=1)


def knowing(policy):
    return Knowing(policy._function, policy.deterministic, policy.name, policy._log_prob)


def evaluate(log, policy, method, members=2):
    return ropeval.evaluate(
        log, policy, method, gamma=0.9, members=members, settings=own(method, tiny_settings()), draws=draws_for(log)
    )


@pytest.fixture(scope="module")
def chain_log():
    return tiny_log("discrete")


@pytest.fixture(scope="module")
def lq_log():
    return tiny_log("continuous")


def lq_policy(sigma):
    return knowing(LinearQuadratic().policy(sigma))


def problems(chain_log, lq_log):
    """A discrete and a continuous problem, each with a stochastic policy."""
    return [(chain_log, knowing(Chain().policy(0.8))), (lq_log, lq_policy(0.6))]


@pytest.mark.parametrize("method", METHODS + COMPOSED)
@pytest.mark.training
def test_discrete_and_continuous_actions_and_the_same_bits_for_the_same_key(chain_log, lq_log, method):
    for log, policy in problems(chain_log, lq_log):
        first, second = (evaluate(log, policy, method) for _ in range(2))
        assert first.members == second.members
        assert first.members
        assert first.value is not None or first.diverged
        assert (first.policy_kind, first.method) == ("stochastic", method)
        stages = make_method(method).stages  # progress is told by these: what takes steps has curves
        assert {stage for stage, steps in stages.items() if steps} <= {row["stage"] for row in first.curves}
        assert {row["stage"] for row in first.curves} <= set(stages)
        # Every method takes part in resampling; for one value in two members a spread is enough, where it is finite.
        finite = [value for value in first.replicates if value is not None]
        assert len(set(finite)) == len(finite) or len(set(finite)) > 100
        assert (first.interval is not None) == (first.value is not None and len(finite) > 1)


@pytest.mark.parametrize("method", [name for name, entry in ESTIMATORS.items() if issubclass(entry.config, FQEConfig)])
@pytest.mark.training
def test_what_learns_from_a_moving_average_tells_how_far_it_has_seen(chain_log, method):
    """60 steps with τ = 0.02 see a step or two ahead, and γ looks ten."""
    found = evaluate(chain_log, knowing(Chain().policy(0.8)), method)
    (told,) = [finding for finding in found.diagnosis if finding.code == "too-short"]
    assert (told.numbers["steps"], told.numbers["ahead"]) == (60, pytest.approx(10.0))
    assert 1.2 <= told.numbers["backups"] < 5.0
    assert (told.severity == "warning") is (method in ("dr", "wdr"))  # whose weights mend what q has not seen


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.training
def test_a_member_does_not_depend_on_the_others(lq_log, method):
    policy = lq_policy(0.6)
    alone, among = evaluate(lq_log, policy, method, members=1), evaluate(lq_log, policy, method)
    # Up to rounding: world rolls all members out in one program, and a processor without AVX-512 adds in another order.
    assert alone.members[0] == pytest.approx(among.members[0], rel=1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.training
def test_deterministic_policies_are_judged_or_refused(lq_log, method):
    """Who has a check may refuse one, with its name; fqe, rope and the baselines take any."""
    policy, chosen = lq_policy(0.0), make_method(method)
    try:
        chosen.check(lq_log, policy)
    except ropeval.UserError:
        assert method not in ("mean-reward", "mean-return", "fqe", "rope+fqe", "lspe")
        with pytest.raises(ropeval.UserError, match="linear"):
            evaluate(lq_log, policy, method)
    else:
        assert evaluate(lq_log, policy, method).policy_kind == "deterministic"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.training
def test_interrupted_and_resumed(lq_log, method, tmp_path):
    def problem():
        return make_problem(lq_log, lq_policy(0.6), 0.9, draws=draws_for(lq_log))

    chosen = make_method(method, tiny_settings())
    whole = answer(problem(), chosen, Options(members=2))
    interruptions, told = 0, set()
    for _ in range(40):
        reports = 0

        def interrupt(stage, fraction):
            nonlocal reports
            reports += 1
            told.add(stage)
            if reports == 7 and fraction < 1:
                raise KeyboardInterrupt

        try:
            resumed = answer(problem(), chosen, Options(members=2), report=interrupt, checkpoints=tmp_path)
            break
        except KeyboardInterrupt:
            interruptions += 1
    assert resumed.members == whole.members
    assert resumed.curves == whole.curves
    trained = {stage for stage, steps in chosen.stages.items() if steps}
    assert interruptions > 0 or not trained
    assert trained <= told  # of every stage, as the method names them: the bar moves


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.training
def test_the_smallest_logs(method):
    """One episode of five steps, and one step in all: an answer or a sentence, never an accident."""
    one_episode = LinearQuadratic().log(1, length=5)
    one_step = LinearQuadratic().log(1, length=1)
    for log in (one_episode, one_step):
        try:
            result = evaluate(log, lq_policy(0.6), method)
        except ropeval.UserError as error:
            assert len(str(error)) > 20  # noqa: PT017  (either way is right, as long as it speaks)
        else:
            assert any("episodes" in w for w in result.warnings)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.training
def test_zero_rewards_are_worth_nothing_much(lq_log, method):
    """Nothing at all where nothing is trained. Networks forget their random start, here of about ±10, by and by."""
    nothing = replace(lq_log, rewards=np.zeros_like(lq_log.rewards))
    quick = tiny_settings()
    for part, entry in parts().items():
        quick[part] |= {k: v for k, v in FORGETTING.items() if k in entry.config.model_fields}
    result = ropeval.evaluate(
        nothing, lq_policy(0.6), method, gamma=0.9, members=2, settings=own(method, quick), draws=1
    )
    assert result.value == pytest.approx(0.0, abs=1.0 if any(make_method(method).stages.values()) else 1e-12)


OTHERWISE: dict[str, list[Any]] = {"learning_rate": [1e-4, 1e-2], "beta": [0.1, 10.0], "dim": [3, 5]}


@pytest.mark.parametrize("name", list(parts()))
@pytest.mark.training
def test_members_of_one_run_may_differ_in_what_a_part_declares(lq_log, name):
    """Two members alike but for one field give two numbers: what is declared is what the part asks its run for."""
    entry = parts()[name]
    method = make_method(f"{name}+lspe" if name in ENCODERS else name, tiny_settings())
    problem = make_problem(lq_log, lq_policy(0.6), 0.9, draws=draws_for(lq_log))
    for field in entry.spread:
        values = OTHERWISE[field]
        run = Run(member_keys(0, 1)[np.zeros(2, int)], settings={f"{name}.{field}": values})
        first, second = fit(problem, method, run).estimated.values
        assert first != second, field


def test_settings_that_no_part_asks_for_are_refused(lq_log):
    problem = make_problem(lq_log, lq_policy(0.6), 0.9, draws=draws_for(lq_log))
    method = make_method("rope+fqe", tiny_settings())
    for wrong in ("fqe.learning_rte", "mico.beta", "fqe.steps", "beta"):
        for given in ("settings", "grid"):
            with pytest.raises(ropeval.UserError, match=wrong):
                fit(problem, method, Run(member_keys(0, 1), **{given: {wrong: [1.0]}}))


FORGETTING = {"steps": 400, "tau": 0.2, "learning_rate": 3e-3}
TRAINED = {
    "steps": 2000,
    "behaviour_steps": 1000,
    "width": 32,
    "batch": 128,
    "learning_rate": 1e-3,
    "dim": 8,
    "rollouts": 256,
}


@pytest.fixture(scope="module")
def long_chain_log():
    return Chain().log(1000, seed=3)


@pytest.fixture(scope="module")
def long_lq_log():
    return LinearQuadratic().log(1000, seed=3)


def trained(log, policy, method):
    return ropeval.evaluate(
        log, policy, method, gamma=0.9, members=2, settings=own(method, settings(**TRAINED)), draws=4, resample=False
    )


# Stated tolerances, relative, of the mean of two members on 1,000 episodes. The learned representations lose
# something, and the corrections of dr and wdr carry the log's own noise. How much is measured in docs/methods; here
# only that they are not lost themselves.
EXACT = {
    "fqe": 0.05, "fqe-clip": 0.05, "fqe-deep": 0.06, "fqe-ln": 0.06, "dr": 0.12, "wdr": 0.12, "world": 0.06,
    "rope-range+fqe": 0.10, "bcrl+lspe": 0.15, "bcrl+fqe": 0.25, "rope-range+dr": 0.10,
}  # fmt: skip


# Not here: on the chain's codes most members of bcrl+lspe diverge, and say so; what the others say is luck.
CASES = [(task, method) for task in ("chain", "linear-quadratic") for method in EXACT]
CASES.remove(("chain", "bcrl+lspe"))


@pytest.mark.parametrize(("task", "method"), CASES)
@pytest.mark.training
def test_exact_answers(long_chain_log, long_lq_log, method, task):
    if task == "chain":
        chain = Chain()
        log, policy, truth = long_chain_log, chain.policy(0.8), chain.values(0.8)[1]
    else:
        lq = LinearQuadratic()
        log, policy, truth = long_lq_log, lq.policy(0.6), lq.value_at(long_lq_log.initial_observations, 0.6)
    assert trained(log, policy, method).value == pytest.approx(truth, rel=EXACT[method])


@pytest.mark.parametrize("method", ["mean-reward", "lspe"])
def test_a_constant_reward_exactly(lq_log, method):
    constant = replace(lq_log, rewards=np.full_like(lq_log.rewards, -1.5))
    assert evaluate(constant, LinearQuadratic().policy(0.6), method).value == pytest.approx(-15.0, rel=1e-4)


@pytest.mark.parametrize("method", ["fqe", "fqe-clip", "fqe-ln", "dr", "rope+fqe", "rope-range+fqe", "world"])
@pytest.mark.training
def test_a_constant_reward_after_training(long_lq_log, method):
    constant = replace(long_lq_log, rewards=np.full_like(long_lq_log.rewards, -1.5))
    result = trained(constant, LinearQuadratic().policy(0.6), method)
    tolerance = 0.15 if method == "dr" else 0.03  # its correction multiplies what is left of the error by ratios
    assert result.value == pytest.approx(-15.0, rel=tolerance)


@pytest.mark.parametrize("method", IMPORTANCE)
def test_a_constant_reward_under_the_behaviour_itself(method):
    """All ratios are one, so the estimate is the mean discounted sum up to the log's cut."""
    lq = LinearQuadratic()
    log = lq.log(40, exploration=0.6)
    log = replace(log, rewards=np.ones_like(log.rewards))
    policy = lq.policy(0.6)
    logged = replace(log, log_probs=policy.log_prob(log.observations, log.actions).astype(np.float32))
    assert evaluate(logged, policy, method).value == pytest.approx((1 - 0.9**10) / 0.1, rel=1e-4)


def test_every_method_has_a_summary_and_the_list_is_complete():
    for name, part in parts().items():
        assert part.summary, name
        assert part.name == name
    assert set(METHODS + COMPOSED) - {"ridge"} <= set(available_methods())
    assert len(available_methods()) == len(ESTIMATORS) + len(ENCODERS) * (len(COMPOSED) + 1)


def test_the_smoke_study_has_every_part():
    named = load_study(Path("smoke.toml")).all_methods
    assert set(ESTIMATORS) <= set(named)
    assert set(ENCODERS) == {encoder for method in named for encoder in [method.rpartition("+")[0]] if encoder}
