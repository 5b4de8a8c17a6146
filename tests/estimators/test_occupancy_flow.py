"""What is compiled against the same in plain NumPy, in double precision, with all features held at once."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeval.data import Problem, expected, make_problem
from ropeval.estimators import bestdice, dualdice, mwl, occupancy_flow
from ropeval.estimators.occupancy import make_ratio
from ropeval.estimators.occupancy_features import Basis, RandomFeatures, Table, random_features, table
from ropeval.estimators.occupancy_flow import imbalance, make_flow
from tests.problems import Chain, LinearQuadratic

METHODS: dict[str, tuple[Any, Any]] = {
    "mwl": (mwl.MWLConfig(features=64), mwl.solve),
    "dualdice": (dualdice.DualDICEConfig(features=64), dualdice.solve),
    "bestdice": (bestdice.BestDICEConfig(features=64), bestdice.solve),
}
EXACT = {"rtol": 1e-9, "atol": 1e-9}
# Cosines in single precision differ by their last bit between NumPy and XLA; moments that are nearly singular answer.
ROUNDED = {"rtol": 1e-4, "atol": 1e-4}


def features(basis: Basis, x: np.ndarray) -> np.ndarray:
    """[…, d]"""
    if isinstance(basis, Table):
        return np.eye(len(basis.cuts) + 1)[np.searchsorted(basis.cuts, x.astype(np.float64) @ basis.direction)]
    assert isinstance(basis, RandomFeatures)
    angles = x @ basis.frequencies
    waves = np.concatenate([np.cos(angles), np.sin(angles)], axis=-1) / np.float32(np.sqrt(angles.shape[-1]))
    return np.concatenate([np.ones((*x.shape[:-1], 1)), waves], axis=-1).astype(np.float64)


class Plain(NamedTuple):
    """The flow as its definition has it; the rows that no member holds are there, and have no share."""

    phi: np.ndarray  # [N, d]
    less: np.ndarray  # [N, d] φ − γφ'
    share: np.ndarray  # [N]
    b: np.ndarray  # [d]

    @classmethod
    def of(cls, problem: Problem, basis: Basis, counts: np.ndarray) -> "Plain":
        data = problem.transitions
        rows, weight = data.block(slice(None)), data.initial_weight
        phi, following = features(basis, rows.x), expected(features(basis, rows.next_x), rows.next_weight)
        every = np.repeat(counts, np.diff(problem.dataset.starts))
        initial = expected(features(basis, data.initial_block()), None if weight is None else np.asarray(weight))
        less = phi - rows.discount.astype(np.float64)[:, None] * following
        return cls(phi, less, every / every.sum(), (1.0 - problem.gamma) * counts @ initial / counts.sum())

    @property
    def C(self) -> np.ndarray:
        return self.second(self.share)

    @property
    def A(self) -> np.ndarray:
        return (self.phi.T * self.share) @ self.less

    @property
    def rows(self) -> int:
        return int(np.count_nonzero(self.share))

    def second(self, weight: np.ndarray) -> np.ndarray:
        return (self.phi.T * weight) @ self.phi


def tabular(seed: int = 0) -> Problem:
    """With all probabilities of the policy's actions, and ends."""
    chain = Chain(gamma=0.95)
    return make_problem(chain.log(40, seed=seed), chain.policy(0.8), chain.gamma)


def continuous(draws: int = 2) -> Problem:
    lq = LinearQuadratic()
    return make_problem(lq.log(40, seed=1), lq.policy(0.4), 0.9, draws=draws)


def basis_of(problem: Problem) -> Basis:
    cells = table(problem.transitions)
    return cells or random_features(problem.transitions, 64, 1.0, np.random.default_rng(0))


def resample(problem: Problem, seed: int = 3) -> np.ndarray:
    episodes = problem.dataset.num_episodes
    return np.bincount(np.random.default_rng(seed).integers(episodes, size=episodes), minlength=episodes)


@pytest.mark.parametrize("block", [64, 256, 4096])
@pytest.mark.parametrize("make", [tabular, continuous, partial(continuous, draws=1)])
def test_moments_and_values(make, block, monkeypatch):
    """Whatever the length of a block, and the last one is filled up."""
    monkeypatch.setattr(occupancy_flow, "BLOCK", block)
    problem = make()
    basis, counts = basis_of(problem), resample(problem)
    found, plain = make_flow(problem.transitions, basis, problem.gamma, counts), Plain.of(problem, basis, counts)
    np.testing.assert_array_equal(found.held, np.flatnonzero(plain.share))
    np.testing.assert_allclose(found.share, plain.share[found.held], rtol=1e-12)
    for name in ("C", "A", "b"):
        np.testing.assert_allclose(getattr(found, name), getattr(plain, name), atol=2e-8, err_msg=name)
    kappa = np.random.default_rng(1).standard_normal(len(plain.b))
    np.testing.assert_allclose(found.values(kappa), (plain.phi @ kappa)[found.held], atol=1e-5)
    signs = np.sign(np.random.default_rng(2).standard_normal(len(found.held)).round())  # some of them zero
    every = np.zeros(len(plain.share))
    every[found.held] = signs
    np.testing.assert_allclose(found.second(signs), plain.second(every), rtol=1e-5, atol=1e-4)


@given(st.integers(1, 600), st.integers(0, 100))
@settings(max_examples=10)
def test_sums_do_not_depend_on_what_else_is_there(rows, seed):
    """Of any rows: the weighted sum of their own products, and nothing of those that were filled in."""
    problem = continuous()
    flow = make_flow(problem.transitions, basis_of(problem), 0.9, resample(problem))
    rng = np.random.default_rng(seed)
    weight = np.zeros(len(flow.held))
    weight[rng.permutation(len(weight))[:rows]] = rng.standard_normal(min(rows, len(weight)))
    phi = features(flow.basis, np.asarray(problem.transitions.rows.x))[flow.held]
    np.testing.assert_allclose(flow.second(weight), (phi.T * weight) @ phi, atol=1e-4)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(("make", "tolerance"), [(tabular, EXACT), (continuous, ROUNDED)])
def test_ratios_and_estimates(name, make, tolerance):
    """ζ of every row and the estimate, by the method's own defaults, but a small kernel."""
    problem, positive = make(), name == "bestdice"
    config, solve = METHODS[name]
    cells, counts = table(problem.transitions), resample(problem)
    found = make_ratio(problem, config, solve, positive, cells, np.random.default_rng(0), counts)
    plain = Plain.of(problem, basis_of(problem), counts)
    zeta = plain.phi @ (newton(plain, config, basis_of(problem)) if positive else solve(plain, config))
    zeta = np.where(plain.share > 0.0, np.maximum(zeta, 0.0) if positive else zeta, 0.0)
    np.testing.assert_allclose(found.values, zeta, **tolerance)
    estimate = plain.share * zeta @ problem.dataset.rewards.astype(np.float64) / (1.0 - problem.gamma)
    assert found.estimate == pytest.approx(estimate, rel=tolerance["rtol"])


def newton(flow: Plain, config: bestdice.BestDICEConfig, basis: Basis) -> np.ndarray:
    """The method's steps over all rows every time: what is cut off is left out, nothing is carried over."""
    unit = np.eye(len(flow.b))
    penalty = config.ridge / flow.rows * (unit - (1.0 - 1e-9) * np.outer(basis.constant, basis.constant))
    h = flow.phi @ (to_kappa := np.linalg.solve(flow.C + 1e-3 * penalty + 1e-12 * unit, flow.A))  # [N, d]

    def objective(beta: np.ndarray) -> float:
        return float(flow.share @ np.maximum(h @ beta, 0.0) ** 2 / 2 - flow.b @ beta + beta @ penalty @ beta / 2)

    beta = np.linalg.solve((h.T * flow.share) @ h + penalty, flow.b)
    for _ in range(config.sweeps):
        zeta = np.maximum(h @ beta, 0.0)
        gradient = h.T @ (flow.share * zeta) - flow.b + penalty @ beta
        direction = np.linalg.solve((h.T * flow.share * (zeta > 0.0)) @ h + penalty, gradient)
        steps = [beta - direction / 2**k for k in range(14)]
        best = next((b for b in steps if objective(b) < objective(beta)), None)
        if best is None or objective(beta) - objective(best) <= 1e-12 * abs(objective(beta)):
            break
        beta = best
    return to_kappa @ beta


@pytest.mark.parametrize("make", [tabular, continuous])
def test_imbalance(make):
    problem = make()
    basis, counts = basis_of(problem), resample(problem)
    flow, plain = make_flow(problem.transitions, basis, problem.gamma, counts), Plain.of(problem, basis, counts)
    zeta = np.random.default_rng(0).standard_normal(len(flow.held))
    weight = np.zeros(len(plain.share))
    weight[flow.held] = zeta * flow.share
    balance = (weight @ plain.less - plain.b) / (1.0 - problem.gamma)
    spread = np.sqrt(np.maximum(plain.share @ plain.phi**2 - (plain.share @ plain.phi) ** 2, 0.0))
    varies = spread > 1e-6
    expect = np.sqrt(np.mean((balance[varies] / spread[varies]) ** 2))
    assert imbalance(flow, basis, problem.gamma, zeta, counts) == pytest.approx(expect, rel=1e-5)
