"""Features that collapsed, that saturated, and that are fine."""

from dataclasses import replace

import numpy as np
import pytest

from ropeval.data import Transitions
from ropeval.evaluation.diagnosis import about_features
from tests.evaluation.diagnosis.evidences import MEMBERS


def encoded(calm, features):
    rows = calm.problem.transitions.rows._replace(x=features, next_x=features[:, :, None])
    return replace(calm, features=Transitions(rows, features[:, :1, None], per_member=True))


def test_collapse(calm):
    rng = np.random.default_rng(0)
    size = len(calm.problem.dataset)
    healthy = np.tanh(rng.standard_normal((MEMBERS, size, 6))).astype(np.float32)
    assert about_features.collapse(encoded(calm, healthy)) is None
    flat = about_features.collapse(encoded(calm, 0.4 + 0.01 * healthy))
    assert "collapsed" in flat.message
    assert flat.numbers["feature_std"] < 0.01
    line = about_features.collapse(encoded(calm, np.repeat(healthy[:, :, :1], 6, axis=2)))  # one direction, six times
    assert line.numbers["effective_rank"] == pytest.approx(1.0, abs=1e-3)
    signs = about_features.collapse(encoded(calm, np.sign(healthy)))
    assert "saturated" in signs.message
    assert signs.severity == "warning"
    assert about_features.collapse(calm) is None


def test_collapse_is_told_of_each_member_and_only_of_those_it_is_true_of(calm):
    rng = np.random.default_rng(0)
    healthy = np.tanh(rng.standard_normal((len(calm.problem.dataset), 6))).astype(np.float32)
    small = np.where(np.arange(6) < 2, 0.4 + 0.01 * healthy, 0.0)  # two features of its own, the rest is filled up
    lost = np.full_like(healthy, np.nan)
    features = encoded(calm, np.stack([healthy, np.sign(healthy), small, lost]).astype(np.float32)).features
    fine, signs, flat, diverged = about_features.collapsed_members(features)
    assert fine is None
    assert diverged is None  # which divergence says
    assert signs.severity == "warning"
    assert signs.message.startswith("the representation saturated (mean |feature| 1 of at most 1")
    assert "members" not in signs.message
    assert flat.severity == "severe"
    assert "effective rank 2 of 2): it tells few states apart" in flat.message
    assert "in 1 of 4 members" in about_features.collapsed(features).message  # one diverged member hides no other
    assert about_features.collapsed_members(calm.problem.transitions) == []


def test_the_effective_rank_counts_directions():
    rng = np.random.default_rng(0)
    features = rng.standard_normal((5_000, 8))
    assert about_features.feature_statistics(features)[2] == pytest.approx(8.0, abs=0.05)
    padded = np.concatenate([features[:, :3], np.zeros((5_000, 5))], axis=1)
    assert about_features.feature_statistics(padded)[2] == pytest.approx(3.0, abs=0.05)
