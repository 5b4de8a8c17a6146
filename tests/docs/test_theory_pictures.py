"""The pictures of docs/guide/theory.md show what the page says: read off the curves that are drawn."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

from ropeval.tabular.sampled import log_log_slope

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "guide" / "theory.md"
GAMMA = 0.9  # of the running example


def load():
    spec = importlib.util.spec_from_file_location("theory_pictures", ROOT / "scripts" / "theory_pictures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


pictures = load()


def curves(axes):
    """What is drawn as lines, by label."""
    return {line.get_label(): (np.asarray(line.get_xdata()), np.asarray(line.get_ydata())) for line in axes.lines}


def test_its_pictures_are_there_and_light():
    shown = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", PAGE.read_text(encoding="utf-8"))
    drawn = {f"{name}.png" for name in pictures.PICTURES} | {"gridworld-all.png"}
    assert {Path(picture).name for picture in shown} == drawn
    for picture in shown:
        path = PAGE.parent / picture
        assert path.is_file()
        assert path.with_suffix(".svg").is_file()
        assert path.stat().st_size < 200_000


def test_iterating_contracts_by_gamma_and_doubling_is_done_in_a_fraction():
    drawn = curves(pictures.contraction().axes[0])
    (_, bound), (work, doubling) = drawn[r"$\gamma^t$ (Proposition 1)"], drawn["doubling"]
    for label in ("plain, from 0", "plain, from random"):
        errors = drawn[label][1]
        seen = errors[:-1] > 1e-12  # below, rounding takes over
        assert (errors[1:][seen] <= GAMMA * errors[:-1][seen] * (1 + 1e-6)).all()
        assert np.interp(work[-1], drawn[label][0], errors) > 0.1, "plain iteration is far off when doubling is done"
    assert (drawn["plain, from random"][1] <= bound * (1 + 1e-9) + 1e-12).all()
    assert doubling[-1] < 1e-9
    assert (np.diff(doubling) < 0).all()


def test_chance_shows_on_the_diagonal_only_where_there_is_chance():
    without, with_chance = pictures.diffuse().axes[:2]
    for axes, is_zero in ((without, True), (with_chance, False)):
        distances = np.asarray(axes.images[0].get_array())
        assert [text.get_text() for text in axes.texts] == [f"{d:.1f}" for d in np.diag(distances)]
        assert (np.diag(distances) < 1e-9).all() if is_zero else (np.diag(distances) > 0.1).all()
        low, high = axes.images[0].get_clim()
        assert low <= distances.min()
        assert distances.max() <= high, "beyond the colours' range, differences would not show"


def test_no_pair_lies_above_the_diagonal():
    axes = pictures.lipschitz().axes[0]
    (right, top) = axes.get_xlim()[1], axes.get_ylim()[1]
    for label in ("stochastic ring", "deterministic ring"):
        distance, difference = curves(axes)[label]
        assert len(distance) == 55, "all pairs of ten"
        assert (difference <= distance + 1e-9).all()
        assert difference.max() > 0.3
        assert distance.max() <= right, "every point is within the picture"
        assert difference.max() <= top


def test_merging_errs_less_than_it_may():
    axes = pictures.aggregation().axes[0]
    drawn = curves(axes)
    line_at, line = drawn[r"$2\epsilon/(1-\gamma)$"]
    slope = line[0] / line_at[0]
    assert slope == pytest.approx(line[1] / line_at[1])
    for label in (r"$\max|q - \tilde q|$", r"$|\rho - \tilde\rho|$"):
        radius, error = drawn[label]
        assert (error <= slope * radius + 1e-9).all()
        assert error.max() > 1
    assert line.max() <= axes.get_ylim()[1]


def test_errors_fall_with_the_root_of_the_log_and_the_legend_says_their_rate():
    drawn = curves(pictures.convergence(seeds=3).axes[0])
    rates = {label: float(re.search(r"m\^\{(-[\d.]+)\}", label)[1]) for label in drawn if "rate" in label}
    assert len(rates) == 3
    for label, rate in rates.items():
        sizes, errors = drawn[label]
        assert rate == pytest.approx(log_log_slope(sizes, errors), abs=0.006)
        assert -0.65 < rate < -0.38
        assert errors[-1] < errors[0] / 8
