"""Study files: what they may say, and what they are resolved into."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeval.bench.data.tasks import find_tasks
from ropeval.bench.run.studies import shipped_studies
from ropeval.bench.run.study import Study, load_study, make_groups
from ropeval.errors import UserError

MANY = list(range(1, 3001))
GRID = {"rope+fqe": {"rope.beta": [0.1, 1.0, 10.0], "rope.dim": ["X/3", "X/2", "X"], "rope.width": [16, 32]}}


def make(**fields) -> Study:
    return Study(**({"name": "s", "tasks": ["tiny/pendulum"], "methods": ["fqe", "rope+fqe"], "seeds": 2} | fields))


@pytest.mark.parametrize("name", shipped_studies())
def test_shipped_studies_are_sound(name):
    study = load_study(Path(name))
    assert find_tasks(study.tasks)
    assert make_groups(study, study.tasks)


def test_the_paper_s_study_is_the_paper_s():
    study = load_study(Path("paper.toml"))
    assert len(find_tasks(study.tasks)) == 12
    assert study.seeds == 20
    rope = study.make("rope+fqe", study.settings_of("rope+fqe")[0])
    for part in ("rope", "fqe"):
        config: Any = rope.configs[part]
        assert (config.steps, config.learning_rate, config.batch) == (300_000, 1e-5, 512)
    assert len(study.settings_of("rope+fqe")) == 9
    assert study.make("fqe-deep", {}).stages["fqe-deep"] == 500_000


def test_what_can_train_together_is_one_group_and_shapes_are_apart():
    groups = [g for g in make_groups(make(grid=GRID), ["a/b"]) if g.method == "rope+fqe"]
    assert [g.shape for g in groups] == [{"rope.width": 16}, {"rope.width": 32}]
    assert all(len(g.members) == 9 * 2 for g in groups)
    assert groups[0].grid == {"rope.beta": [0.1, 1.0, 10.0], "rope.dim": ["X/3", "X/2", "X"]}
    assert len({g.name for g in make_groups(make(grid=GRID), ["a/b", "a/c"])}) == 2 * (2 + 1 + 2)


@given(st.integers(1, 40), st.integers(0, 18))
def test_units_hold_every_member_that_is_left_once_and_none_is_too_large(largest, done):
    group = next(g for g in make_groups(make(grid=GRID), ["a/b"]) if g.method == "rope+fqe")
    left = group.members[done:]
    units = group.units(left, largest)
    assert [m for unit in units for m in unit.members] == list(left)
    assert all(len(unit.members) <= largest for unit in units)
    assert len({unit.id for unit in units}) == len(units)
    assert len({len(unit.members) for unit in units[:-1]}) <= 1  # every size is compiled once


def test_the_trivial_baselines_are_in_every_study_with_one_row():
    groups = make_groups(make(methods=["fqe"]), ["a/b"])
    assert [(g.method, len(g.members)) for g in groups] == [("mean-reward", 1), ("mean-return", 1), ("fqe", 2)]


def test_default_setting_is_recognised():
    study = make()
    assert study.is_default("rope+fqe", {"rope.beta": 1.0, "rope.dim": "X/2"})
    assert not study.is_default("rope+fqe", {"rope.beta": 0.1, "rope.dim": "X/2"})


def test_steps_go_to_every_part_and_settings_win():
    study = make(steps=7, settings={"rope": {"steps": 9}})
    configs: Any = study.make("rope+fqe", {}).configs
    assert (configs["rope"].steps, configs["fqe"].steps) == (9, 7)


WRONG = {
    'tasks = ["a/b"]': "methods",
    'tasks = []\nmethods = ["fqe"]': "tasks",
    'tasks = ["a/b"]\nmethods = ["fqx"]': "fqx",
    'tasks = ["a/b"]\nmethods = ["fqe"]\nseeds = 0': "seeds",
    'tasks = ["a/b"]\nmethods = ["fqe"]\nseeds = 1000000000000000000': "1,000,000,000,000,000,000 members",
    f'tasks = ["a/b"]\nmethods = ["fqe"]\n[grid.fqe]\n"fqe.width" = {MANY}\n"fqe.depth" = {MANY}': "9,000,000 settings",
    'tasks = ["a/b"]\nmethods = ["fqe"]\n[grid.fqe]\n"fqe.width" = [8, 16, 8]': "lists a value twice",
    'tasks = ["a/b"]\nmethods = ["fqe"]\nprotocol = "mine"': "protocol",
    'tasks = ["a/b"]\nmethods = ["fqe"]\nspeed = 3': "speed",
    'tasks = ["a/b"]\nmethods = ["fqe"]\n[settings.fqe]\nlayers = 3': "fqe.layers",
    'tasks = ["a/b"]\nmethods = ["fqe"]\n[grid.fqe]\n"rope.beta" = [1]': "rope",
    'tasks = ["a/b"]\nmethods = ["fqe"]\n[grid.lspe]\n"lspe.ridge" = [1]': "lspe",
    'tasks = ["a/b"]\nmethods = ["fqe"]\n[grid.fqe]\n"fqe.learning_rate" = [-1.0]': "fqe.learning_rate",
    'tasks = ["a/b"]\nmethods = ["fqe"]\n[grid.fqe]\n"fqe.learning_rate" = []': "grid.fqe",
    "tasks = [": "TOML",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_study_is_refused_and_the_fault_named(text, tmp_path):
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        load_study(path)
    assert str(path) in str(caught.value)
    assert WRONG[text] in str(caught.value)


def test_a_study_that_does_not_exist_says_which_are_shipped(tmp_path):
    with pytest.raises(UserError, match=r"paper\.toml, smoke\.toml"):
        load_study(tmp_path / "none.toml")
