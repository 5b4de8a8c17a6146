"""Random MDPs and policies for the property tests: stochastic and deterministic, with every degenerate corner."""

import numpy as np
from hypothesis import strategies as st

from ropeval.tabular import TabularMDP

GAMMAS = (0.0, 0.3, 0.9, 0.99)


def distributions(rng, shape, deterministic):
    """Rows over the last axis: one-hot, or Dirichlet with some entries exactly zero."""
    if deterministic:
        return np.eye(shape[-1])[rng.integers(shape[-1], size=shape[:-1])]
    rows = rng.dirichlet(np.full(shape[-1], 0.6), size=shape[:-1])
    rows = np.where(rows < 0.05, 0.0, rows)
    return rows / rows.sum(axis=-1, keepdims=True)


@st.composite
def problems(draw, deterministic=None, max_states=5):
    """(mdp, pi_e, pi_b), with γ = 0, terminal states, all-zero and all-equal rewards among the cases."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    S, A = draw(st.integers(1, max_states)), draw(st.integers(1, 3))
    fixed = draw(st.booleans()) if deterministic is None else deterministic
    P = distributions(rng, (S, A, S), fixed)
    kind = draw(st.sampled_from(["zero", "equal", "few", "any", "large"]))
    r = {
        "zero": np.zeros((S, A)),
        "equal": np.full((S, A), -1.5),
        "few": rng.integers(-1, 2, (S, A)).astype(float),
        "any": rng.uniform(-1, 1, (S, A)),
        "large": rng.uniform(-100, 100, (S, A)),
    }[kind]
    terminal = rng.random(S) < draw(st.sampled_from([0.0, 0.3, 1.0]))
    gamma = draw(st.sampled_from(GAMMAS))
    mdp = TabularMDP(P, r, distributions(rng, (S,), False), gamma, terminal)
    pi_e = mdp.policy(distributions(rng, (S, A), fixed))
    return mdp, pi_e, mdp.policy(distributions(rng, (S, A), False))


def garnet(S, A, branches, seed, gamma=0.99):
    """A random MDP with `branches` next states for each pair and rewards in [0, 1]."""
    rng = np.random.default_rng(seed)
    P = np.zeros((S, A, S))
    for s in range(S):
        for a in range(A):
            P[s, a, rng.choice(S, branches, replace=False)] = rng.dirichlet(np.ones(branches))
    mdp = TabularMDP(P, rng.random((S, A)), np.full(S, 1 / S), gamma)
    return mdp, rng.dirichlet(np.ones(A), size=S), mdp.uniform_policy()
