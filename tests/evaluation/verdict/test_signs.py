"""What can be seen of an estimate without the truth."""

from dataclasses import replace

import numpy as np
import pytest

from ropeval.data import make_problem
from ropeval.data.bounds import ANYTHING
from ropeval.data.returns import MOST_SUPPOSED
from ropeval.estimators.estimator import Backups, EffectiveSize, Estimated
from ropeval.evaluation.conclude import Conclusion
from ropeval.evaluation.diagnosis.evidence import Evidence
from ropeval.evaluation.earned import Earned
from ropeval.evaluation.verdict.rule import BY_REASON, judge
from ropeval.evaluation.verdict.signs import read_signs
from ropeval.evaluation.verdict.verdict import policies_differ_by
from ropeval.learning.engine import Run, member_keys
from ropeval.learning.resample import Resamples
from tests.evaluation.verdict.estimates import estimate
from tests.problems import Chain, LinearQuadratic

GAMMA = 0.9


@pytest.fixture(scope="module")
def evidence():
    chain = Chain()
    problem = make_problem(chain.log(200, right=0.7), chain.policy(0.8), GAMMA, draws=2)
    return Evidence(problem, 0.3, np.zeros(2, bool), {}, Estimated(np.array([0.3, 0.31])), Run(member_keys(0, 2)))


def said(value, replicates=(0.2, 0.4), lost=(False, False)):
    every = np.array(replicates)
    return Conclusion(value, None, every, every, np.array(lost), np.zeros(2, bool), ANYTHING)


def test_shares_are_those_of_what_the_log_earned(evidence):
    earned = Earned(evidence.problem.log)
    signs = read_signs(evidence, said(earned.mean, (0.2, 0.4)))
    assert signs["moved"] == signs["beyond"] == signs["lost"] == 0.0
    assert signs["spread"] == pytest.approx(np.std([0.2, 0.4], ddof=1) / earned.scale)
    assert earned.least <= earned.mean <= earned.most


def test_what_lies_above_all_that_was_ever_earned_is_beyond(evidence):
    earned = Earned(evidence.problem.log)
    signs = read_signs(evidence, said(earned.most + 2.0 * earned.scale))
    assert signs["beyond"] == pytest.approx(2.0)
    assert read_signs(evidence, said(earned.least - earned.scale))["beyond"] == pytest.approx(1.0)


def test_signs_that_a_method_does_not_have_are_left_out(evidence):
    assert {"effective", "support", "outside", "members", "alike"}.isdisjoint(read_signs(evidence, said(0.3)))
    weighted = replace(evidence, estimated=replace(evidence.estimated, effective=EffectiveSize(7.0, True, 0.5)))
    assert read_signs(weighted, said(0.3))["effective"] == 7.0
    assert read_signs(weighted, said(0.3))["weight"] == 0.5


def test_a_policy_alone_is_set_beside_the_log_and_actions_at_random(evidence):
    earned = Earned(evidence.problem.log)
    value = earned.mean + 0.2 * earned.scale

    def differ(at_random, **given):
        told = {"log_value": earned.mean}
        seen = replace(evidence, estimated=replace(evidence.estimated, at_random=at_random, extras=told))
        return read_signs(seen, said(value), **given).get("differ")

    assert differ(lambda: earned.mean - 0.3 * earned.scale, alone=True) == pytest.approx(0.5)
    assert differ(lambda: earned.mean, alone=True) == pytest.approx(0.2)
    assert differ(None, alone=True) is None
    assert differ(lambda: pytest.fail("it takes time, and nobody needs it")) is None


def test_policies_that_differ_by_little_do_so_also_where_all_episodes_were_cut_off():
    """By what was earned in seven steps, policies that are worth what the log is would look worse than it."""
    task = LinearQuadratic()
    problem = make_problem(task.log(200, length=7), task.policy(0.0), task.gamma, draws=2)
    worth, earned = task.value_at(problem.dataset.initial_observations, 0.6), Earned(problem.log)
    assert worth < earned.mean - 0.1 * earned.scale

    def simulated(value):
        told = Estimated(np.array([value, value]), extras={"support": 0.99, "log_value": worth, "replays": []})
        signs = read_signs(Evidence(problem, value, np.zeros(2, bool), {}, told, Run(member_keys(0, 2))), said(value))
        return estimate("world", value, **signs)

    near = [simulated(worth + more * earned.scale) for more in (0.01, -0.02)]
    assert policies_differ_by(near) == pytest.approx(0.03 * earned.scale)


def test_training_that_was_too_short_is_a_sign_unless_weights_mend_it(evidence):
    def short(backups):
        seen = replace(evidence, estimated=replace(evidence.estimated, backups=backups))
        return read_signs(seen, said(0.3)).get("short")

    assert short(None) is None
    assert short(Backups(50, 0.02)) > 0.8
    assert short(Backups(5_000, 0.02)) < 0.01
    assert short(Backups(50, 0.02, mended=True)) is None


def test_a_simulator_is_judged_by_its_worst_replay(evidence):
    replays = [
        {"steps": 1, "predicted": 9.0, "logged": 0.0, "logged_std": 1.0},  # one step says little
        {"steps": 10, "predicted": 1.0, "logged": 0.5, "logged_std": 2.0},
        {"steps": 50, "predicted": 1.0, "logged": 2.0, "logged_std": 2.0},
    ]
    told = {"support": 0.9, "fallback": 0.1, "apart": 0.4, "replays": replays}
    signs = read_signs(replace(evidence, estimated=replace(evidence.estimated, extras=told)), said(0.3))
    assert signs["replay"] == 0.5
    assert (signs["support"], signs["fallback"], signs["apart"]) == (0.9, 0.1, 0.4)


def test_of_a_simulator_it_is_told_how_many_members_are_left_and_whether_their_logs_differ(evidence):
    told = {"support": 0.9, "fallback": 0.1, "apart": 0.4, "replays": []}
    simulator = replace(evidence, estimated=replace(evidence.estimated, extras=told))
    signs = read_signs(simulator, said(0.3))
    assert (signs["members"], signs["alike"]) == (2.0, 1.0)
    own = Resamples(0, evidence.problem.dataset.num_episodes)
    signs = read_signs(replace(simulator, run=replace(evidence.run, resamples=own)), said(0.3, (0.2,)))
    assert (signs["members"], signs["alike"]) == (1.0, 0.0)


def test_nothing_is_seen_of_what_has_no_value(evidence):
    assert read_signs(evidence, said(None)) == {}


def test_where_episodes_were_cut_off_too_early_the_log_is_no_measure(evidence):
    """Three steps of γ = 0.9: 73 % of what counts comes later, and V_b supposes it."""
    lq = LinearQuadratic()
    problem = make_problem(lq.log(50, length=3), lq.policy(0.5), GAMMA)
    told = {"log_value": -80.0, "support": 1.0, "fallback": 0.0, "apart": 0.0, "replays": []}
    estimated = replace(evidence.estimated, extras=told, at_random=lambda: -9.0)
    cut = replace(evidence, problem=problem, estimated=estimated)
    signs = read_signs(cut, said(-6.0), alone=True)
    assert signs["cut"] == pytest.approx(GAMMA**3)
    assert "moved" not in signs
    assert signs["differ"] * signs["scale"] == pytest.approx(3.0)  # from random actions, and not from the log
    assert policies_differ_by([estimate("world", -6.0, **signs)]) == pytest.approx(min(3.0, signs["scale"]))
    assert judge(signs, BY_REASON).word == "partly"
    assert read_signs(evidence, said(0.3))["cut"] < MOST_SUPPOSED
