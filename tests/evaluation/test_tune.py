"""Choosing settings: the tournament finds the exact q among wrong ones, and what it chose is what is used."""

import json
from typing import Any

import numpy as np
import pytest

from ropeval.data import make_problem
from ropeval.evaluation.methods import make_method
from ropeval.evaluation.options import Options
from ropeval.evaluation.result_folder import ResultFolder
from ropeval.evaluation.session import Session, run_session
from ropeval.evaluation.tune import candidates, tournament, tune, with_settings
from tests.problems import Chain, LinearQuadratic

SMALL = {"fqe": {"steps": 60, "width": 8, "batch": 16}, "rope": {"steps": 20, "width": 8, "batch": 8}}


def backed_up(chain, log, tables):
    """q and r + γ·E q' on the logged rows, for tables [C, S, A] and a policy that goes right with probability 0.8."""
    state, following = log.observations.argmax(axis=1), log.next_observations.argmax(axis=1)
    discount = np.where(log.terminations, 0.0, chain.gamma)
    values = np.stack([q[state, log.actions] for q in tables])
    return values, np.stack([log.rewards + discount * (q @ [0.2, 0.8])[following] for q in tables])


@pytest.mark.parametrize("place", [0, 2, 4])
def test_the_exact_q_wins(place):
    """Against one of the behaviour, a constant, a scaled one and noise; wherever it stands among them."""
    chain = Chain()
    log = chain.log(600)
    exact = chain.values(0.8)[0]
    rng = np.random.default_rng(0)
    wrong = [chain.values(0.5)[0], np.full_like(exact, log.rewards.mean() / 0.1), 1.5 * exact]
    wrong.append(exact + 0.2 * rng.standard_normal(exact.shape))
    tables = np.stack([*wrong[:place], exact, *wrong[place:]])
    losses = tournament(*backed_up(chain, log, tables))
    assert int(np.argmin(losses)) == place
    assert np.sort(losses)[1] > 1.5 * losses[place]


def test_candidates_are_all_combinations_with_one_rate_for_both_parts():
    assert candidates(make_method("mean-return")) == []
    assert candidates(make_method("lspe")) == []
    assert [c["fqe.learning_rate"] for c in candidates(make_method("fqe"))] == [1e-4, 3e-4, 1e-3]
    found = candidates(make_method("rope+fqe"))
    assert len(found) == 27
    pairs = {(beta, dim) for beta in (0.1, 1.0, 10.0) for dim in ("X/3", "X/2", "X")}
    assert {(c["rope.beta"], c["rope.dim"]) for c in found} == pairs
    assert all(c["rope.learning_rate"] == c["fqe.learning_rate"] for c in found)


@pytest.mark.training
def test_the_winner_has_the_smallest_loss_and_its_settings_are_used():
    lq = LinearQuadratic()
    problem = make_problem(lq.log(30), lq.policy(0.5), 0.9, draws=2)
    method = make_method("fqe", {"fqe": {**SMALL["fqe"], "steps": 200}})
    found = tune(problem, method, 0)
    best = int(np.argmin([np.inf if loss is None else loss for loss in found.losses]))
    assert found.chosen == found.candidates[best]
    config: Any = found.method.configs["fqe"]
    assert config.learning_rate == found.chosen["fqe.learning_rate"]
    assert config.width == 8
    assert len(set(found.values)) == 3
    assert tune(problem, make_method("mean-return"), 0) is None


@pytest.mark.training
def test_a_session_keeps_its_choice(tmp_path):
    """Interrupted after the choice, it goes on with it instead of choosing again."""
    lq = LinearQuadratic()
    options = Options(method=("fqe",), settings={"fqe": SMALL["fqe"]}, gamma=0.9, members=2, draws=2, tune=True)
    session, folder = Session(lq.log(20), [lq.policy(0.5)], options), ResultFolder(tmp_path)

    def stop(number, stage, fraction):
        if (tmp_path / ".work/0-chosen.json").exists():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), folder.writing(session.about()):
        run_session(session, folder, stop)
    kept = tmp_path / ".work/0-chosen.json"
    kept.write_text(json.dumps(json.loads(kept.read_text()) | {"chosen": {"fqe.learning_rate": 0.0123}}))
    with folder.writing(session.about(), resume=True):
        (result,) = run_session(session, folder)
    assert result.config["fqe"]["learning_rate"] == 0.0123


def test_other_fields_stay():
    method = with_settings(make_method("rope+fqe"), {"rope.beta": 10.0, "rope.dim": "X"})
    rope: Any = method.configs["rope"]
    assert (rope.beta, rope.dim) == (10.0, "X")
    assert method.configs["fqe"] == make_method("rope+fqe").configs["fqe"]
