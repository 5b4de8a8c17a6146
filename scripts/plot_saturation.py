"""Why the paper's form of ROPE saturates, and the range-matched form does not: docs/images/saturation.png.

    python scripts/plot_saturation.py [--steps 5000] [--members 3]

Trains both encoders on the embedded log and draws the statistics of their features over the training, and how the
features of single logged pairs are distributed in the end.
"""

import argparse
from importlib import resources
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ropeval.data import load_dataset, make_problem
from ropeval.encoders import ENCODERS
from ropeval.encoders.similarity import mean_difference, output_dim, range_scale
from ropeval.learning.engine import Run, member_keys
from ropeval.policies import load_policy
from ropeval.runtime import prepare
from ropeval.settings import make_config

OUT = Path(__file__).resolve().parents[1] / "docs" / "images" / "saturation.png"
GAMMA = 0.99
SETTINGS = {"width": 64, "learning_rate": 1e-3}  # those of `ropeval demo`
STATISTICS = {
    "feature_mean": "mean of the features",
    "feature_std": "std of a feature over the log",
    "feature_size": "mean |feature|  (tanh: at most 1)",
}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--policy", default="swingup")
    arguments.add_argument("--steps", type=int, default=5_000)
    arguments.add_argument("--members", type=int, default=3)
    arguments.add_argument("--out", type=Path, default=OUT)
    options = arguments.parse_args()
    prepare()

    with resources.as_file(resources.files("ropeval.demo")) as folder:
        dataset = load_dataset(folder / "log.npz")
        policy = load_policy(folder / "policies" / f"{options.policy}.npz")
    problem = make_problem(dataset, policy, GAMMA)
    run = Run(member_keys(0, options.members))
    dim = output_dim("X/2", problem.transitions.dim)
    spread = mean_difference(dataset.rewards)
    scale = range_scale(dataset.rewards, GAMMA, dim)
    print(f"d = {dim}, mean |Δr| = {spread:.4g}, mean of the metric = {spread / (1 - GAMMA):.4g}, c = {scale:.4g}")

    figure = Figure(figsize=(13, 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, 4)
    for name, colour in (("rope", "#d55e00"), ("rope-range", "#0072b2")):
        encoder = ENCODERS[name]
        config = make_config(encoder.config, name, SETTINGS, {"steps": options.steps})
        encoded = encoder(problem, config, run)
        (trained,) = encoded.trained
        for axis, metric in zip(axes, STATISTICS, strict=False):
            axis.plot(trained.steps, trained.curves[metric], color=colour, lw=1.2)
            axis.plot([], [], color=colour, label=name)
        features = np.asarray(encoded.transitions.rows.x).reshape(-1)
        axes[3].hist(features, bins=np.linspace(-1, 1, 61), density=True, color=colour, alpha=0.6, label=name)
        last = {metric: float(np.median(trained.curves[metric][-1])) for metric in STATISTICS}
        print(name, {metric: round(value, 4) for metric, value in last.items()}, *encoded.warnings)
    for axis, title in zip(axes, STATISTICS.values(), strict=False):
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("training step")
        axis.grid(alpha=0.25)
    axes[3].set_title("all features of the log, in the end", fontsize=10)
    axes[3].set_xlabel("value of a feature")
    axes[0].legend(frameon=False)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(options.out, dpi=130)
    print(f"written to {options.out.name}")


if __name__ == "__main__":
    main()
