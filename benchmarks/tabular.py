"""How much the doubling scheme saves over plain iteration, at 2,000 state-action pairs, in one run.

    python benchmarks/tabular.py                 # this machine; writes benchmarks/results/tabular.md
    python benchmarks/tabular.py --full          # also runs plain iteration on pairs to its end (a GPU, or patience)

Every route computes the same ROPE distance to the same proved error, in float64, with the same JAX products:

    pairs    the recursion as the paper writes it, on N×N arrays
    states   the recursion of its mean over actions, on S×S arrays, expanded to pairs at the end

Times are the least of the repetitions, since the machine may be shared; compilation is done before the clock runs.
"""

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from ropeval.files import write_text
from ropeval.provenance import commit
from ropeval.runtime import float64, processor
from ropeval.tabular.mdp import TabularMDP
from ropeval.tabular.metrics import StateActionMetric, random_policy, rope
from ropeval.tabular.recursion import coupled_step, doubling, krylov, rounds
from ropeval.tabular.solve import pair_chain, policy_chain

TOLERANCE = 1e-10


def garnet(S: int, A: int, branches: int, seed: int) -> tuple[TabularMDP, np.ndarray]:
    """A random MDP with `branches` next states for each pair, rewards in [0, 1], γ = 0.99; and a random policy."""
    rng = np.random.default_rng(seed)
    P = np.zeros((S, A, S))
    for s in range(S):
        for a in range(A):
            P[s, a, rng.choice(S, branches, replace=False)] = rng.dirichlet(np.ones(branches))
    return TabularMDP(P, rng.random((S, A)), np.full(S, 1 / S), 0.99), rng.dirichlet(np.ones(A), size=S)


@jax.jit
def sweep(d: jax.Array, R: jax.Array, P: jax.Array, gamma: float) -> tuple[jax.Array, jax.Array]:
    after = R + gamma * (P @ d @ P.T)
    return after, jnp.abs(after - d).max()


def plain(R: np.ndarray, P: np.ndarray, gamma: float, most: int | None = None) -> tuple[np.ndarray, int, float]:
    """Plain iteration on the device until the last change proves the tolerance; (d, sweeps, seconds per sweep)."""
    with float64():
        R_, P_ = jnp.asarray(R), jnp.asarray(P)
        d = jnp.zeros_like(R_)
        jax.block_until_ready(sweep(d, R_, P_, gamma))
        fastest, count, change = np.inf, 0, np.inf
        while change * gamma > TOLERANCE * (1 - gamma) and (most is None or count < most):
            start = time.perf_counter()
            d, moved = sweep(d, R_, P_, gamma)
            change = float(moved)  # waits for the device
            fastest = min(fastest, time.perf_counter() - start)
            count += 1
        return np.array(d), count, fastest


def least(run: Callable[[], np.ndarray], repeats: int) -> tuple[np.ndarray, float]:
    result, best = run(), np.inf  # the first run compiles
    for _ in range(repeats):
        start = time.perf_counter()
        result = run()
        best = min(best, time.perf_counter() - start)
    return result, best


def hardware() -> str:
    device = jax.devices()[0]
    accelerator = f", {device.device_kind}" if device.platform != "cpu" else ""
    return f"{processor()}, {os.cpu_count()} cores{accelerator}; JAX {jax.__version__}, NumPy {np.__version__}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--states", type=int, default=500)
    parser.add_argument("--actions", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--full", action="store_true", help="run plain iteration on pairs to its end")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/tabular.md"))
    options = parser.parse_args()

    mdp, pi = garnet(options.states, options.actions, 5, seed=0)
    metric = rope(mdp, pi)
    N, S, gamma = mdp.num_pairs, mdp.num_states, mdp.gamma
    R, P = metric.short_term, pair_chain(mdp, pi)
    R_s, P_s = metric._state_mean(R), policy_chain(mdp, pi).P
    k = rounds(gamma, float(R.max()), TOLERANCE)
    print(f"{N} pairs, {k} rounds of doubling", flush=True)

    d_doubled, t_doubled = least(lambda: doubling(R, P, gamma, TOLERANCE, use_jax=True), options.repeats)
    print(f"doubling on pairs {t_doubled:.3f} s", flush=True)
    d_states, t_states = least(metric.fixed_point, options.repeats)
    print(f"doubling on states {t_states:.3f} s", flush=True)
    M, count, per_sweep = plain(R_s, P_s, gamma)
    t_plain_states = count * per_sweep
    print(f"plain on states {count} sweeps, {t_plain_states:.2f} s", flush=True)
    d_plain, done, per_pair_sweep = plain(R, P, gamma, None if options.full else 8)
    t_plain = per_pair_sweep * (done if options.full else count)
    print(f"plain on pairs {per_pair_sweep:.4f} s a sweep, {done} run, {t_plain:.1f} s", flush=True)

    expanded = metric.short_term + metric._future(M)
    gaps = [np.abs(d_states - expanded).max(), np.abs(d_doubled - expanded).max()]
    if options.full:
        gaps.append(np.abs(d_plain - expanded).max())
    krylov_rows = coupled(mdp, options.repeats)

    ratios = f"{t_plain_states / t_states:.0f} times as long on states, **{t_plain / t_states:.0f} times** on pairs"
    how = "run to its end" if options.full else f"{done} sweeps run, of the {count} needed"
    text = f"""# Doubling against plain iteration

`python benchmarks/tabular.py{" --full" if options.full else ""}` at commit {commit()}, on {hardware()}.

ROPE distance of a random MDP with {S} states × {options.actions} actions = {N} pairs, γ = {gamma}, float64,
error ≤ {TOLERANCE:g}, all in one run. Each time is the least of {options.repeats} runs; for plain iteration it is the
fastest sweep times their number (on states: all were run; on pairs: {how}).

| route | arrays | products | seconds | plain iteration takes |
|---|---|---|---|---|
| plain iteration on pairs, as the paper writes it | {N}×{N} | 2 × {count} | {"" if options.full else "about "}{t_plain:.1f} | |
| **doubling on pairs** | {N}×{N} | 3 × {k} − 1 | {t_doubled:.3f} | **{t_plain / t_doubled:.0f} times as long** |
| plain iteration on states | {S}×{S} | 2 × {count} | {t_plain_states:.2f} | |
| **doubling on states, expanded** (`fixed_point`) | {S}×{S} | 3 × {k} − 1, and 2 | {t_states:.3f} | {ratios} |

Largest difference between the routes' distances: {max(gaps):.1e} (the distances reach {d_states.max():.1f}).

{krylov_rows}
"""
    write_text(options.out, text)
    print(text)


def coupled(mdp: TabularMDP, repeats: int) -> str:
    """The random-policy metric, whose sides share their action: BiCGSTAB against plain sweeps on states."""
    metric: StateActionMetric = random_policy(mdp)
    R, P_a, gamma = metric._state_mean(metric.short_term), mdp.P.transpose(1, 0, 2), mdp.gamma
    M, seconds = least(lambda: krylov(R, P_a, gamma, TOLERANCE), repeats)
    step = coupled_step(P_a, gamma)
    swept, fastest, count = R, np.inf, 0
    needed = int(np.ceil(np.log(TOLERANCE * (1 - gamma) / gamma / R.max()) / np.log(gamma)))
    while count < 30:
        start = time.perf_counter()
        swept, count = R + step(swept), count + 1
        fastest = min(fastest, time.perf_counter() - start)
    residual = float(np.abs(R + step(M) - M).max())
    return (
        f"Random-policy metric (the same action on both sides), BiCGSTAB on {mdp.num_states}×{mdp.num_states} arrays: "
        f"{seconds:.2f} s, error ≤ {residual / (1 - gamma):.1e}, proved by its residual. Plain iteration: "
        f"{fastest * 1e3:.1f} ms a sweep (least of {count}), at most {needed} sweeps, {fastest * needed:.0f} s: "
        f"{fastest * needed / seconds:.0f} times as long."
    )


if __name__ == "__main__":
    main()
