"""The pictures of docs/guide/theory.md: docs/images/theory-*.png and .svg.

python scripts/theory_pictures.py docs/images
"""

import sys

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ropeval.tabular.aggregate import aggregation_error, neighbourhoods
from ropeval.tabular.figures import save
from ropeval.tabular.files import folder
from ropeval.tabular.gridworld import gridworld
from ropeval.tabular.mdp import Array, TabularMDP
from ropeval.tabular.metrics import rope
from ropeval.tabular.sampled import fqe_exact, log_log_slope, sample_log, sampled_rope
from ropeval.tabular.solve import action_values, pair_chain

BLUE, ORANGE, GREEN, GREY = "#2f6fb0", "#d9772b", "#3a9a5b", "0.45"


def example(deterministic: bool = False, gamma: float = 0.9) -> tuple[TabularMDP, Array]:
    """The running example: five states in a ring, two actions (on, back), an eighth of all steps slip to anywhere.

    The reward is that of the state, 0, ¼, ½, ¾, 1, and going back costs 0.1. π_e goes on with chance 0.8. The
    deterministic version never slips and always goes on.
    """
    S = 5
    on, back = np.roll(np.eye(S), 1, axis=1), np.roll(np.eye(S), -1, axis=1)
    slip = 0.0 if deterministic else 0.125
    P = (1 - slip) * np.stack([on, back], axis=1) + slip / S
    r = np.linspace(0, 1, S)[:, None] - np.array([0.0, 0.1])
    go_on = 1.0 if deterministic else 0.8
    return TabularMDP(P, r, np.eye(S)[0], gamma), np.tile([go_on, 1 - go_on], (S, 1))


def contraction() -> Figure:
    """Proposition 1 and 2: plain iteration from two starts along γ^t, and doubling beside it."""
    mdp, pi = example()
    metric = rope(mdp, pi)
    d, P = metric.fixed_point(1e-14), pair_chain(mdp, pi)
    far = 20 * np.random.default_rng(0).random(d.shape)
    figure, axes = _figure("products of two 10×10 arrays", r"largest error  $\|d_t - d_{\pi_e}\|_\infty$")
    for start, colour, label in ((np.zeros_like(d), BLUE, "plain, from 0"), (far, ORANGE, "plain, from random")):
        errors, current = [], start
        for _ in range(150):
            errors.append(np.abs(current - d).max())
            current = metric.operator(current)
        axes.semilogy(2 * np.arange(150), errors, color=colour, label=label)
    bound = np.abs(far - d).max() * mdp.gamma ** np.arange(150)
    axes.semilogy(2 * np.arange(150), bound, color=GREY, ls="--", lw=1, label=r"$\gamma^t$ (Proposition 1)")
    sums, power, errors = metric.short_term, P, [np.abs(metric.short_term - d).max()]
    for k in range(8):
        sums, power = sums + mdp.gamma ** (2**k) * power @ sums @ power.T, power @ power
        errors.append(max(np.abs(sums - d).max(), 1e-15))
    axes.semilogy(3 * np.arange(9), errors, color=GREEN, marker="o", ms=4, label="doubling")
    axes.set_ylim(1e-13, 1e2)
    axes.legend(frameon=False)
    return figure


def diffuse() -> Figure:
    """Proposition 3: the distances of the ring without and with chance; the diagonal tells them apart."""
    figure = Figure(figsize=(8.6, 3.9), layout="constrained")
    panels = figure.subplots(1, 2)
    for axes, fixed in zip(panels, (True, False), strict=True):
        mdp, pi = example(deterministic=fixed)
        d = rope(mdp, pi).fixed_point()
        shown = axes.imshow(d, cmap="viridis", vmin=0, vmax=6.4)
        for i in range(10):
            axes.text(i, i, f"{d[i, i]:.1f}", ha="center", va="center", fontsize=7.5, color="white")
        names = [f"{s}{'+' if a == 0 else '−'}" for s in range(5) for a in range(2)]
        axes.set_xticks(range(10), names, fontsize=8)
        axes.set_yticks(range(10), names, fontsize=8)
        kind = "deterministic: self-distance 0" if fixed else "stochastic: self-distance > 0"
        axes.set_title(kind, fontsize=11)
    figure.colorbar(shown, ax=panels, label=r"$d_{\pi_e}$", shrink=0.85)
    return figure


def lipschitz() -> Figure:
    """Theorem 1: every pair of pairs lies below the diagonal."""
    figure, axes = _figure(r"distance $d_{\pi_e}(x, y)$", r"$|q(x) - q(y)|$")
    for fixed, colour, label in ((False, BLUE, "stochastic ring"), (True, ORANGE, "deterministic ring")):
        mdp, pi = example(deterministic=fixed)
        q, d = action_values(mdp, pi).reshape(-1), rope(mdp, pi).fixed_point()
        upper = np.triu_indices(len(q))
        axes.plot(d[upper], np.abs(q[:, None] - q)[upper], ".", color=colour, ms=7, alpha=0.8, label=label)
    axes.plot([0, 8], [0, 8], color=GREY, ls="--", lw=1, label="Theorem 1")
    axes.set(xlim=(-0.1, 8), ylim=(-0.1, 3))
    axes.legend(frameon=False, loc="upper left")
    return figure


def aggregation() -> Figure:
    """Lemma 1 and Theorem 2 on a 4×4 gridworld: the error made by merging, beside what it cannot exceed."""
    figure, axes = _figure(r"radius $\epsilon$ of the clustering", "error")
    _, mdp, pi, _ = gridworld(4)
    d = rope(mdp, pi).fixed_point()
    rng = np.random.default_rng(0)
    found = [
        aggregation_error(mdp, pi, neighbourhoods(d, epsilon, rng))
        for epsilon in np.geomspace(0.5, d.max(), 40)
        for _ in range(5)
    ]
    radius = np.array([one.radius for one in found])
    axes.plot(radius, [one.q_error for one in found], "o", color=BLUE, ms=5, label=r"$\max|q - \tilde q|$")
    axes.plot(radius, [one.value_error for one in found], "x", color=ORANGE, ms=5, label=r"$|\rho - \tilde\rho|$")
    line = np.array([radius[radius > 0].min(), radius.max()])
    axes.plot(line, 2 * line / (1 - mdp.gamma), color=GREY, ls="--", lw=1, label=r"$2\epsilon/(1-\gamma)$")
    axes.set(xscale="log", yscale="log", ylim=(1e-2, 2e4))
    axes.legend(frameon=False, loc="upper left")
    return figure


def convergence(seeds: int = 20) -> Figure:
    """The sampled operator, its fixed point and tabular FQE against the exact ones, with the fitted rate."""
    figure, axes = _figure("logged transitions", r"largest error (mean over seeds, middle half)")
    mdp, pi = example()
    d, q = rope(mdp, pi).fixed_point(), action_values(mdp, pi)
    sizes = np.unique(np.geomspace(300, 100_000, 8).astype(int))
    labels = [r"one step $\|\hat F d - d\|$", r"fixed point $\|\hat d - d\|$", r"tabular FQE $\|\hat q - q\|$"]
    errors = np.empty((len(sizes), seeds, 3))
    for i, m in enumerate(sizes):
        for seed in range(seeds):
            log = sample_log(mdp, np.ones_like(q), int(m), np.random.default_rng(1000 * i + seed))
            sampled = sampled_rope(log, pi, mdp)
            pieces: list[npt.NDArray[np.float64]] = [
                sampled.operator(d) - d,
                sampled.fixed_point() - d,
                fqe_exact(log, pi, mdp) - q,
            ]
            errors[i, seed] = [np.abs(piece).max() for piece in pieces]
    for j, (label, colour) in enumerate(zip(labels, (GREEN, BLUE, ORANGE), strict=True)):
        mean = errors[:, :, j].mean(axis=1)
        low, high = np.quantile(errors[:, :, j], [0.25, 0.75], axis=1)
        rate = f"rate $m^{{{log_log_slope(sizes, mean):.2f}}}$"
        axes.loglog(sizes, mean, "o-", color=colour, ms=4, label=f"{label}, {rate}")
        axes.fill_between(sizes, low, high, color=colour, alpha=0.15, lw=0)
    axes.loglog(sizes, 0.3 * (sizes / sizes[0]) ** -0.5, color=GREY, ls="--", lw=1, label="$m^{-1/2}$")
    axes.legend(frameon=False, fontsize=9)
    return figure


def _figure(xlabel: str, ylabel: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(5.6, 4.0), layout="constrained")
    axes = figure.subplots()
    axes.set(xlabel=xlabel, ylabel=ylabel)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


PICTURES = {
    "theory-contraction": contraction,
    "theory-diffuse": diffuse,
    "theory-lipschitz": lipschitz,
    "theory-aggregation": aggregation,
    "theory-sampled": convergence,
}


def main(out: str = "docs/images") -> None:
    for name, draw in PICTURES.items():
        for path in save(draw(), folder(out) / name):
            print(path)


if __name__ == "__main__":
    main(*sys.argv[1:2])
