"""Policies as users hand them over: named, in folders, as functions, one or many."""

import shutil
from typing import Any

import numpy as np
import pytest

from ropeval.errors import UserError
from ropeval.policies import UniformPolicy, load_policy
from ropeval.policies.given import load_policies
from ropeval.policies.spec import Spec, parse_spec
from tests.policies.hostile import FILES
from tests.policies.samples import arrays, save


def names(policies):
    return [policy.name for policy in policies]


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Two trainings, each with its `best_model.npz`."""
    for run in ("run1", "run2"):
        (tmp_path / run / "models").mkdir(parents=True)
        save(tmp_path / run / "models", arrays(), "best_model.npz")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_policy_may_be_given_a_name(runs):
    assert load_policy("old=run1/models/best_model.npz").name == "old"
    assert load_policy("old=run1/models/best_model.npz@mean").name == "old"
    assert load_policy("dice=uniform:-1,1").name == "dice"
    pair = f"mine={FILES / 'ppo_normalised.zip'}+{FILES / 'vecnormalize.pkl'}"
    policy: Any = load_policy(pair)
    assert (policy.name, policy.inside.name) == ("mine", "mine")
    assert policy.sha256 == load_policy(pair.removeprefix("mine=")).sha256  # a name changes no action


def test_what_exists_is_a_file_and_no_name(runs):
    (runs / "lr=0.1").mkdir()
    shutil.copy("run1/models/best_model.npz", "lr=0.1/a=b.npz")
    assert load_policy("lr=0.1/a=b.npz").name == "a=b"
    assert load_policy("lr=0.1/a=b.npz@mean").name == "a=b@mean"
    assert parse_spec("x=lr=0.1/a=b.npz+none@mean") == Spec("x", "lr=0.1/a=b.npz", "none", "mean")
    with pytest.raises(UserError, match=r"policy absent\.npz: no such file"):
        load_policy("lr=absent.npz")
    with pytest.raises(UserError, match=r"policy uniform\+none: no such file"):
        load_policy("uniform+none")


def test_folders_tell_files_of_one_name_apart(runs):
    two = ["run1/models/best_model.npz", "run2/models/best_model.npz"]
    assert names(load_policies(two)) == ["run1/models/best_model", "run2/models/best_model"]
    shutil.move("run2/models/best_model.npz", "run2/best_model.npz")
    mixed = [two[0], "run2/best_model.npz", "run2/best_model.npz@mean", f"c={two[0]}", "uniform"]
    assert names(load_policies(mixed)) == ["models/best_model", "run2/best_model", "best_model@mean", "c", "uniform"]
    assert names(load_policies(two[:1])) == ["best_model"]
    assert names(load_policies([two[0], two[0]])) == ["best_model", "best_model"]  # refused by whoever needs names


def test_functions_policies_words_and_names_in_python():
    def right(observations):
        return np.ones(len(observations), int)

    given = load_policies([right, "uniform", UniformPolicy(name="mine"), lambda observations, rng: None])
    assert names(given) == ["right", "uniform", "mine", "<lambda>"]
    assert [policy.deterministic for policy in given] == [True, False, False, False]
    mine = UniformPolicy(name="mine")
    assert names(load_policies({"a": right, "b": mine})) == ["a", "b"]
    assert mine.name == "mine"
    assert names(load_policies(right)) == ["right"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "none is given"),
        ({}, "none is given"),
        (3, "found int; give a Policy, a function"),
        ([UniformPolicy], "UniformPolicy is a class; give an object of it"),
        ({"a": ["uniform"]}, "found list"),
        (type("Model", (), {"predict": print})(), r"found Model, a model; .*model\.predict\(observations\)"),
        (lambda: None, "policy <lambda>: it takes 0 arguments"),
    ],
)
def test_what_is_no_policy(given, message):
    with pytest.raises(UserError, match=message):
        load_policies(given)
