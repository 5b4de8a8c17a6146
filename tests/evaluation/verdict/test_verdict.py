"""Who may say what: verdicts on the estimates of one policy."""

import pytest

from ropeval.evaluation.result import Estimate
from ropeval.evaluation.verdict.rule import table
from ropeval.evaluation.verdict.verdict import give_verdicts, policies_differ_by
from tests.evaluation.verdict.estimates import estimate, world


def words(*estimates):
    return [one.verdict and one.verdict.word for one in give_verdicts(estimates)]


def test_a_simulator_that_the_log_supports_is_supported_and_one_that_it_does_not_is_a_guess():
    assert words(world(5.0), world(5.0, support=0.05), world(5.0, spread=9.0)) == ["supported", "guess", "guess"]


def test_the_reason_names_the_worst_sign():
    (one,) = give_verdicts([world(5.0, support=0.1)])
    assert "shows only 10%" in one.verdict.reason
    (one,) = give_verdicts([world(5.0)])
    assert "agree" in one.verdict.reason


def test_others_are_as_good_as_they_agree_with_it():
    limits = table().limits["beside"]["disputed"]
    near, between, far = 5.0, 5.0 + 10.0 * (limits.harmless + limits.guess) / 2.0, 5.0 + 10.0 * (limits.guess + 0.1)
    found = words(world(5.0), estimate("fqe", near), estimate("fqe-clip", between), estimate("mean-return", far))
    assert found == ["supported", "supported", "partly", "guess"]


def test_no_method_knows_more_than_the_simulator():
    found = give_verdicts([world(5.0, support=0.05), estimate("fqe", 5.0)])
    assert found[1].verdict.word == "guess"
    assert "no better supported" in found[1].verdict.reason


def test_the_simulator_of_another_policy_says_nothing():
    other = estimate("fqe", 5.0, policy="other")
    assert words(world(5.0), other) == ["supported", "partly"]


def test_without_a_simulator_nothing_is_better_than_partly_and_what_ignores_the_policy_is_a_guess():
    calm = {"spread": 0.001, "outside": 0.0}
    found = words(
        estimate("fqe", 5.0, **calm), estimate("wis", 5.0, effective=99.0, **calm), estimate("mean-return", 5.0)
    )
    assert found == ["partly", "partly", "guess"]


def test_the_expected_error_is_told_in_rewards():
    """Of `scale`, 10 or 100; never less than half the interval, which is 1."""
    lucky, one = (give_verdicts([world(5.0, scale=scale)])[0] for scale in (10.0, 100.0))
    measured = table().expected["simulator"]["supported"]
    assert one.verdict.share == measured.share
    assert one.verdict.error == pytest.approx(measured.scale * 100.0)
    assert f"within about {measured.scale * 100.0:.2g}, nine" in one.verdict.sentence
    assert lucky.verdict.error == pytest.approx(1.0)


def test_what_has_no_value_has_no_verdict_and_results_are_read_back():
    assert words(estimate("fqe", None)) == [None]
    (one,) = give_verdicts([world(5.0)])
    assert Estimate.from_json(one.to_json()).verdict == one.verdict


def test_what_was_trained_far_too_briefly_is_a_guess_whoever_agrees():
    calm = {"spread": 0.001, "outside": 0.0}
    alone = [estimate("fqe", 5.0, short=short, **calm) for short in (0.05, 0.2, 0.5)]
    assert [words(one)[0] for one in alone] == ["partly", "partly", "guess"]
    (one,) = give_verdicts(alone[-1:])
    assert one.verdict.reason.startswith("training was too short: about 50%")
    beside = [words(world(5.0), estimate("fqe", 5.0, short=short))[1] for short in (0.05, 0.2, 0.5)]
    assert beside == ["supported", "partly", "guess"]
    simulators = [words(world(5.0, short=short))[0] for short in (0.05, 0.2, 0.5)]
    assert simulators == ["supported", "partly", "guess"]


def test_nobody_is_held_against_a_simulator_that_was_hardly_trained():
    calm = {"spread": 0.001, "outside": 0.0}
    untrained = world(9.0, short=0.9)
    assert words(untrained, estimate("fqe", 5.0, **calm)) == ["guess", "partly"]  # as without it
    assert words(untrained, world(5.0), estimate("fqe", 5.0)) == ["guess", "supported", "supported"]


def test_earlier_results_do_not_have_the_sign_and_are_judged_as_before():
    assert "short" not in world(5.0).signs
    assert words(world(5.0), estimate("fqe", 5.0)) == ["supported", "supported"]


def test_weights_are_judged_by_how_many_episodes_they_leave_and_not_by_their_share():
    """A policy that always shows the same of five items leaves a fifth of a log of even ones: enough, if it is long."""
    long, short = (estimate("wis", 5.0, episodes=5.0 * n, effective=n, weight=1.0) for n in (1000.0, 4.0))
    astray = estimate("wis", 5.0, episodes=1200.0, effective=500.0, weight=0.4)
    none = estimate("is", 5.0, episodes=100.0, effective=0.0, weight=0.0)
    assert words(long, short, astray, none) == ["partly", "guess", "guess", "guess"]
    reasons = [one.verdict.reason for one in give_verdicts([short, astray])]
    assert "4 episodes' worth" in reasons[0]
    assert "off by a factor of 2.5" in reasons[1]


def test_observations_that_are_not_the_whole_state_support_nothing():
    calm, (told,) = give_verdicts([world(5.0, memory=0.1)])[0], give_verdicts([world(5.0, memory=0.9)])
    assert calm.verdict.word == "supported"
    assert told.verdict.word == "partly"
    assert told.verdict.reason.startswith("the observations are not the whole state")
    (told,) = give_verdicts([world(5.0, memory=0.04, foretold=0.025)])
    assert told.verdict.word == "partly"
    assert told.verdict.reason.endswith("the step before tells 2.5% of what surprises")
    assert words(world(5.0, foretold=0.005)) == ["supported"]
    assert words(world(5.0, foretold=0.06)) == ["guess"]


def test_a_life_in_states_that_nobody_logged_is_not_supported():
    told = [give_verdicts([world(5.0, strayed=share)])[0].verdict for share in (0.1, 0.2, 0.5)]
    assert [one.word for one in told] == ["supported", "partly", "guess"]
    assert told[2].reason == "50% of the time its states lie outside all logged ones"
    assert words(world(5.0, strayed=0.5), estimate("fqe", 5.0)) == ["guess", "guess"]


@pytest.mark.parametrize(("members", "word"), [(1.0, "guess"), (2.0, "partly"), (3.0, "supported"), (5.0, "supported")])
def test_a_simulator_whose_members_cannot_disagree_is_not_supported(members, word):
    simulator, beside = give_verdicts([world(5.0, members=members), estimate("fqe", 5.0, members=1.0)])
    assert (simulator.verdict.word, beside.verdict.word) == (word, word)
    assert ("members disagree where the log is silent" in simulator.verdict.reason) is (word != "supported")


def test_a_simulator_whose_members_learned_from_the_same_log_is_not_supported():
    assert words(world(5.0, alike=0.0)) == ["supported"]
    (simulator,) = give_verdicts([world(5.0, alike=1.0)])
    assert (simulator.verdict.word, "learned from the same log" in simulator.verdict.reason) == ("partly", True)


def test_what_policies_differ_by_is_their_range_with_the_log_and_at_most_the_scale():
    """By the simulator; `moved` is how far each is from what the log earned, as a share of the scale, 10."""
    assert policies_differ_by([]) is None
    assert policies_differ_by([world(5.0, moved=0.1), world(7.0, moved=0.1)]) == pytest.approx(2.0)  # the log: 6
    assert policies_differ_by([world(5.0, moved=0.1), world(7.0, moved=0.3)]) == pytest.approx(3.0)  # the log: 4
    assert policies_differ_by([world(5.0, moved=1.0), world(25.0, moved=1.0)]) == pytest.approx(10.0)
    assert policies_differ_by([world(5.0, moved=0.0), world(5.0, moved=0.0)]) > 0.0


def test_a_single_policy_is_measured_by_what_it_the_log_and_actions_at_random_differ_by():
    assert policies_differ_by([world(5.0, differ=0.4)]) == pytest.approx(4.0)
    assert policies_differ_by([world(5.0, differ=7.0)]) == pytest.approx(10.0)
    assert policies_differ_by([world(5.0, differ=0.0)]) > 0.0
    earlier = world(5.0, moved=0.2)
    earlier.signs.pop("differ")
    assert policies_differ_by([earlier]) == pytest.approx(2.0)
    assert words(world(5.0, spread=0.03, differ=1.0)) == ["supported"]
    assert words(world(5.0, spread=0.03, differ=0.1)) == ["partly"]
    assert words(world(5.0, spread=0.03, differ=0.02)) == ["guess"]


def test_luck_that_stretches_the_scale_makes_nothing_look_near():
    """Returns differ by 1000 and policies by 10: what is 3 from the simulator is far from it, whatever returns do."""
    lucky = {"scale": 1000.0, "moved": 0.005}
    pair = [world(5.0, spread=0.0005, **lucky), world(15.0, policy="other", spread=0.002, **lucky)]
    beside = [estimate("fqe", 5.4, **lucky), estimate("fqe-clip", 6.0, **lucky), estimate("lspe", 8.0, **lucky)]
    assert words(*pair, *beside) == ["supported", "partly", "supported", "partly", "guess"]
    alone = world(5.0, spread=0.0005, differ=0.01, **lucky)  # actions at random are 10 away
    assert words(alone, *beside) == ["supported", "supported", "partly", "guess"]
    told = give_verdicts([*pair, *beside])
    assert told[1].verdict.reason == "resampled logs differ by 20% of what policies differ by"
    assert told[4].verdict.reason == "the simulator says otherwise (30% of what policies differ by)"


def test_among_policies_the_expected_error_is_a_share_of_what_they_differ_by():
    calm = {"scale": 1000.0, "moved": 0.05, "spread": 0.001}
    pair = [world(5.0, **calm), world(105.0, policy="other", **calm)]
    told = give_verdicts([pair[0], pair[1], estimate("fqe", 5.0, scale=1000.0)])
    own, beside = (table().expected[kind]["supported"] for kind in ("simulator", "beside"))
    assert told[0].verdict.error == pytest.approx(own.scale * 100.0)
    assert told[2].verdict.error == pytest.approx(beside.scale * 100.0)


def test_weights_by_which_few_episodes_decide_are_a_guess_unless_a_simulator_says_how_far_off():
    """77 effective episodes of 5,000: enough by their number, but those that would weigh most are missing."""
    few = estimate("wis", 5.0, spread=0.001, episodes=5000.0, effective=77.0, weight=0.94)
    (told,) = give_verdicts([few])
    assert told.verdict.word == "guess"
    assert told.verdict.reason.startswith("77 episodes' worth of weights decide everything")
    assert words(estimate("wis", 5.0, spread=0.001, episodes=500.0, effective=77.0, weight=0.94)) == ["partly"]
    assert words(world(5.0), few) == ["supported", "supported"]
    assert words(world(6.0), few) == ["supported", "partly"]
