"""Curves of many seeds as one line each: the interquartile mean at every step, with its bootstrap band."""

from typing import NamedTuple

import numpy as np
import polars as pl

from ropeval.bench.results.rows import case_name
from ropeval.bench.results.scores import COVERAGE, Floats, iqm, quantiles, resampled_iqm
from ropeval.bench.results.summary import TrueValues
from ropeval.evaluation.diagnosis.about_fit import drift

BAND_RESAMPLES = 200  # a band is looked at, not read off
KEY = ("task", "policy", "method", "hyper", "stage", "metric")
Name = tuple[str, str, str, str, str]  # case, method, hyper, stage, metric


class Line(NamedTuple):
    """[P] each; not finite where more than a quarter of the seeds were not."""

    steps: np.ndarray
    value: Floats
    low: Floats
    high: Floats


class Curve(NamedTuple):
    """One setting's curve of every seed."""

    steps: np.ndarray  # [P]
    values: Floats  # [n, P]


def gather(curves: pl.DataFrame, rows: pl.DataFrame) -> dict[Name, Curve]:
    """Long rows of one protocol as arrays; a curve whose seeds have no step in common is left out.

    What was trained once for all policies of a task is the curve of each policy that `rows` have of it.
    """
    policies = dict(rows.group_by("task").agg(pl.col("policy").unique()).iter_rows())
    groups = curves.group_by(*KEY).agg("step", "seed", "value")
    columns = [groups[name] for name in ("step", "seed", "value")]
    found: dict[Name, Curve] = {}
    for place, (task, policy, method, hyper, stage, metric) in enumerate(groups.select(*KEY).iter_rows()):
        curve = _curve(*(column[place].to_numpy() for column in columns))
        if len(curve.steps):
            for one in [policy] if policy else policies[task]:
                found[case_name(task, one), method, hyper, stage, metric] = curve
    return found


def _curve(steps: np.ndarray, seeds: np.ndarray, values: np.ndarray) -> Curve:
    """Steps that not every seed has recorded are left out: a mean over changing company would jump."""
    at, counts = np.unique(steps, return_counts=True)
    members = len(np.unique(seeds))
    common = at[counts == members]
    kept = np.isin(steps, common) if len(common) < len(at) else np.full(len(steps), True)
    order = np.lexsort((steps[kept], seeds[kept]))
    return Curve(common, values[kept][order].astype(float).reshape(members, -1))


def error_line(curve: Curve, truth: TrueValues) -> Line:
    """RMAE over training. What is not finite counts as an infinite error, as in the tables."""
    with np.errstate(invalid="ignore", over="ignore"):
        errors = np.abs(curve.values - truth.value) / truth.unit
    return line(Curve(curve.steps, np.where(np.isfinite(errors), errors, np.inf)))


def line(curve: Curve, band: bool = True) -> Line:
    values = np.where(np.isnan(curve.values), np.inf, curve.values)
    with np.errstate(invalid="ignore", over="ignore"):
        middle = iqm(values, axis=0)
        if not band or len(values) == 1:
            return Line(curve.steps, middle, middle, middle)
        tail = (1 - COVERAGE) / 2
        low, high = quantiles(resampled_iqm(values, BAND_RESAMPLES), tail, 1 - tail)
    return Line(curve.steps, middle, low, high)


def settled(curve: Curve) -> bool:
    """Whether the seeds that did not diverge had come to rest, by the same rule as a single estimate's diagnosis."""
    kept = curve.values[np.isfinite(curve.values).all(axis=1)]
    return not len(kept) or drift(kept.mean(axis=0)) is None


def stage_of(method: str, part: str) -> str:
    """The stage that trains the `encoder` or the `estimator` of a method: it has the part's name."""
    encoder, _, estimator = method.rpartition("+")
    return encoder if part == "encoder" else estimator
