"""Every variant answers; base is the library's own; what is there is not made again; the table is right."""

import json
import sys
import time
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from benchmarks import world_ablation, world_variants
from benchmarks.dev_rows import keep, rows

import ropeval
from ropeval.bench.data.task_data import Judged
from ropeval.data import Log
from ropeval.errors import UserError
from ropeval.estimators.world import LARGEST, ROLLOUTS, WorldConfig, estimate, rollouts
from ropeval.estimators.world.network import Sizes, row_loss
from ropeval.estimators.world.noise import silent
from ropeval.files import locked
from tests.estimators.world.logs import QUICK
from tests.problems import LinearQuadratic
from tests.tiny import tiny_log

PROBLEM = LinearQuadratic()
GAMMA = PROBLEM.gamma


@pytest.fixture(scope="module")
def log() -> Log:
    return Log(tiny_log("continuous"), GAMMA)


def answers(log, name, members=5):
    """By variant, of the training that begins with `name`."""
    (training,) = [one for one in world_variants.TRAININGS if one.variants[0] == name]
    config = world_variants.make_config(training, QUICK, len(log.dataset))
    found: dict = {}
    for made in world_variants.prepare_variants(training, log, config, members, training.variants):
        said = world_variants.answer(made, log, PROBLEM.policy(0.0), training.variants)
        found |= {variant: (row, made, world_variants.held_out_error(made, log)) for variant, row in said.items()}
    return found


def evaluated(log, members):
    return ropeval.evaluate(
        log.given, PROBLEM.policy(0.0), "world", gamma=GAMMA, members=members, resample=True, settings={"world": QUICK}
    )


@pytest.mark.training
def test_base_is_what_evaluate_says_and_the_rest_is_made_of_its_networks(log):
    found = answers(log, "base")
    assert set(found) == {"base", "own", "no-fallback", "log-value", "sampled", "members-3"}
    base, whole = found["base"][0], evaluated(log, 5)
    assert base["estimate"] == whole.value
    assert {name: whole.extras[name] for name in ("support", "apart", "fallback", "log_value", "simulated")} == {
        name: base[name] for name in ("support", "apart", "fallback", "log_value", "simulated")
    }
    assert found["members-3"][0]["estimate"] == evaluated(log, 3).value
    own = float(np.mean(whole.members))
    assert found["own"][0]["simulated"] == pytest.approx(own)
    weight = base["fallback"]
    assert found["own"][0]["estimate"] == pytest.approx((1 - weight) * own + weight * base["log_value"])
    assert found["no-fallback"][0]["estimate"] == pytest.approx(base["simulated"])
    assert found["log-value"][0]["estimate"] == pytest.approx(base["log_value"])


@pytest.mark.training
def test_sampled_draws_where_base_does_not():
    still = LinearQuadratic(noise=0.0)
    log = Log(still.log(20), GAMMA)
    settings = QUICK | {"steps": 400, "width": 32, "learning_rate": 1e-2}
    training = world_variants.TRAININGS[0]
    made = world_variants.prepare_variants(training, log, WorldConfig(**settings), 3, ("base", "sampled"))
    base, sampled = (one.world for one in made)
    assert base.noisy == ()
    assert not np.asarray(base.simulator.noise.residuals).any()
    assert sampled.noisy == base.simulator.units.moving
    assert np.asarray(sampled.simulator.noise.residuals).std(axis=(0, 1)).min() > 0
    for mine, theirs in zip(jax.tree.leaves(sampled.simulator.nets), jax.tree.leaves(base.simulator.nets), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.training
@pytest.mark.parametrize("name", ["no-layer-norm", "likelihood", "width-256", "steps-12000", "members-7"])
def test_every_other_training_answers(log, name):
    found = answers(log, name, members=2)
    assert name in found
    for row, made, held_out in found.values():
        assert np.isfinite([row["estimate"], row["simulated"], held_out]).all()
        assert held_out > 0
        assert bool(made.world.simulator.nets.norms) == (name != "no-layer-norm")
    made = found[name][1]
    sizes, members = made.world.sizes, made.run.members
    assert (sizes.width, sizes.depth) == ((256, 2) if name == "width-256" else (8, 1))
    assert sizes.steps == (12 if name == "steps-12000" else 60)
    assert members == (7 if name == "members-7" else 2)


@pytest.mark.training
def test_sampling_from_the_likelihood_is_not_the_mean_and_leaves_no_trace(log):
    found = answers(log, "likelihood", members=2)
    mean, sampled = (found[name] for name in ("likelihood", "likelihood-sampled"))
    assert mean[0]["simulated"] != sampled[0]["simulated"]
    assert mean[2] == sampled[2], "the same networks"
    assert rollouts.next_state.__name__ == "next_state"
    made = mean[1]
    again = estimate(log.problem(PROBLEM.policy(0.0)), made.config, made.run, made.world)
    assert again.extras["simulated"] == mean[0]["simulated"]


def test_the_likelihood_draws_with_the_variance_that_it_learned():
    units = SimpleNamespace(
        moving=(0, 1), whole=(False, False), chosen=(), chosen_columns=(), values=(),
        change_mean=np.zeros(2), change_std=np.ones(2), state_low=np.full(2, -100.0), state_high=np.full(2, 100.0),
    )  # fmt: skip
    found = world_variants.Gaussian(np.array([1.0, -1.0]), (), 0.0, 0.0, np.array([4.0, 0.0]))
    keys = jax.random.split(jax.random.key(0), 4000)
    noise = silent(1, 2).of(0)
    noise = jax.tree.map(jax.numpy.asarray, noise._replace(residuals=noise.residuals + 1.0))  # it is not drawn from
    nowhere = jax.numpy.zeros(2)
    drawn = np.asarray(
        jax.vmap(lambda key: world_variants.sampled_state(units, noise, key, nowhere, nowhere, found))(keys)
    )
    assert drawn.mean(axis=0) == pytest.approx([1.0, -1.0], abs=0.1)
    assert drawn.std(axis=0) == pytest.approx([2.0, 0.0], abs=0.1)


def test_the_likelihood_is_the_squared_error_where_the_variance_is_one_and_is_least_at_the_right_one():
    row = SimpleNamespace(x=np.zeros(1), next_x=np.array([[0.5, 2.0]]), discount=1.0, reward=0.25)

    def loss(raw):
        output = jax.numpy.array([0.3, 1.0, 0.0, 0.0, *raw])  # two changes, reward, end, two log-variances
        return float(world_variants.likelihood_loss(lambda _: output, row, 2, ())), output

    raws = np.linspace(-6, 0.9, 400)
    told = [np.asarray(world_variants.log_variance(loss((raw, raw))[1], 2)) for raw in raws]
    one = raws[int(np.argmin([abs(values[0]) for values in told]))]
    value, output = loss((one, one))
    assert value == pytest.approx(float(row_loss(lambda _: output[:4], row, 2, ())), abs=0.02)
    least = raws[int(np.argmin([loss((raw, one))[0] for raw in raws]))]
    assert np.exp(np.asarray(world_variants.log_variance(loss((least, one))[1], 2))[0]) == pytest.approx(0.04, rel=0.05)
    low, high = world_variants.LOG_VARIANCES
    for raw in (-1e3, 1e3):
        held = np.asarray(world_variants.log_variance(loss((raw, raw))[1], 2))
        assert ((held > low - 0.01) & (held < high + 0.01)).all()


def test_a_variant_that_would_train_what_base_trains_is_left_out():
    (shorter,) = [one for one in world_variants.TRAININGS if one.variants == ("steps-12000",)]
    assert world_variants.make_config(shorter, {"batch": 100}, 15_000) is None  # 80 passes are 12,000 steps
    assert world_variants.make_config(shorter, {"batch": 100, "steps": 500}, 15_000).steps == 100


# --- keeping rows ---------------------------------------------------------------------------------------------


def task_data(log):
    """As `load_task` gives it: two policies may be looked at, the third may not."""
    worth = lambda value: SimpleNamespace(discounted=SimpleNamespace(value=value))  # noqa: E731
    judged = {
        name: Judged(PROBLEM.policy(0.0), worth(value), split)
        for name, value, split in (("weak", -9.0, "dev"), ("strong", -5.0, "dev"), ("kept-aside", -1.0, "test"))
    }
    return SimpleNamespace(dataset=log.given, judged=judged, random=worth(-20.0))


@pytest.fixture
def asked(log, monkeypatch, tmp_path):
    """The benchmark from its command line, on a task of ours."""
    task = SimpleNamespace(name="ours/tiny", split="dev", family="other", gamma=GAMMA)
    monkeypatch.setattr("ropeval.bench.data.tasks.find_tasks", lambda names: [task])
    monkeypatch.setattr("ropeval.bench.data.task_data.load_task", lambda task, data: task_data(log))
    monkeypatch.setattr("ropeval.runtime.prepare", lambda: None)
    monkeypatch.setitem(LARGEST, "cpu", Sizes(60, QUICK["batch"], QUICK["width"], QUICK["depth"], 0, 0))
    monkeypatch.setitem(ROLLOUTS, "cpu", (QUICK["rollouts"], QUICK["rollouts"]))
    monkeypatch.delenv("DEADLINE", raising=False)

    def ask(*more):
        given = ["world_ablation", "--out", str(tmp_path), "--steps", "20", "--members", "2", *more]
        monkeypatch.setattr(sys, "argv", given)
        world_ablation.main()
        return rows(tmp_path)

    return ask


@pytest.mark.training
def test_what_is_there_is_not_made_again(asked, monkeypatch, capsys):
    first = asked("--variants", "base", "own")
    assert [(row["policy"], row["variant"]) for row in first] == [
        ("weak", "base"), ("weak", "own"), ("strong", "base"), ("strong", "own"),
    ]  # fmt: skip
    assert {row["range"] for row in first} == {8.0}  # of all that are judged
    assert [row["best"] for row in first] == [False, False, True, True]  # of those that may be looked at
    assert "| own |" in capsys.readouterr().out
    monkeypatch.setattr(world_variants, "prepare", lambda *_: pytest.fail("it trains again"))
    assert asked("--variants", "base", "own") == first


@pytest.mark.training
def test_of_an_interrupted_run_only_what_is_missing_is_made(asked, tmp_path):
    first = asked("--variants", "base", "own")
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in first[:-1]))
    second = asked("--variants", "base", "own")
    assert second[:-1] == first[:-1]
    assert {**second[-1], "training_s": 0, "rollouts_s": 0} == {**first[-1], "training_s": 0, "rollouts_s": 0}


def test_nothing_is_begun_after_the_deadline_or_where_another_is_at_it(asked, tmp_path, monkeypatch):
    keep(tmp_path, ROWS[0])
    assert asked("--seconds-left", "0") == ROWS[:1]
    monkeypatch.setenv("DEADLINE", str(time.time() - 1))
    assert asked() == ROWS[:1]
    monkeypatch.setenv("DEADLINE", str(time.time() + 1000))
    with locked(tmp_path / "claims" / "ours-tiny.base"):
        assert asked("--variants", "sampled") == ROWS[:1]


@pytest.mark.parametrize(
    ("words", "environment", "said"),
    [
        (["--variants", "bse"], {}, "--variants: 'bse' is not one"),
        ([], {"DEADLINE": "soon"}, "DEADLINE is 'soon'"),
        (["--summarise"], {}, "there are no rows of base yet"),
    ],
)
def test_what_cannot_be_is_said(asked, monkeypatch, words, environment, said):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UserError, match=said):
        asked(*words)


# --- the table ------------------------------------------------------------------------------------------------


def row(task, policy, variant, estimate, truth, held_out, family="locomotion"):
    best = (task, policy) != ("a", "1")
    return {
        "task": task, "policy": policy, "variant": variant, "estimate": estimate, "truth": truth, "range": 10.0,
        "random": 0.0, "held_out": held_out, "family": family, "best": best,
    }  # fmt: skip


ROWS = [
    row("a", "1", "base", 1.0, 2.0, 0.1),  # errors of 0.1, 0.2 and 0.6 of the range
    row("a", "2", "base", 6.0, 4.0, 0.1),
    row("b", "1", "base", 2.0, 8.0, 0.2),
    row("c", "1", "base", 5.0, 4.0, 0.3, "control"),
    row("a", "1", "other", 5.0, 2.0, 0.4),  # 0.3, broken; b is missing
    row("a", "2", "other", None, 4.0, 0.4),
    row("c", "1", "other", 4.0, 4.0, 0.3, "control"),
    row("d", "1", "other", 9.0, 4.0, 9.0, "control"),  # base has none: does not count
]


def test_the_table_pairs_every_variant_with_base(tmp_path):
    for one in ROWS:
        keep(tmp_path, one)
    base, other = [[cell.strip() for cell in line.split("|")[1:-1]] for line in world_ablation.table(tmp_path)][2:]
    # RMAE of the best of a, b and c: 2/4, 6/8, 1/4
    assert base == ["base", "0.200", "0.300", "0.100", "0.100", "0.500", "1.00", "3, 1"]
    # held out: (0.4/0.1 · 0.3/0.3)^½; base on the same cases: 0.1 and 0.2; 0.1; RMAE 2/4 and 1/4
    assert other == [
        "other", "inf (0.150)", "inf (0.150)", "0.000 (0.100)", "0.000 (0.100)", "inf (0.375)", "2.00", "2, 1",
    ]  # fmt: skip


def test_rows_of_several_writers_stand_on_lines_of_their_own(tmp_path):
    for place in range(3):
        keep(tmp_path, {"place": place, "long": "ß" * 20_000})
    assert [one["place"] for one in rows(tmp_path)] == [0, 1, 2]
