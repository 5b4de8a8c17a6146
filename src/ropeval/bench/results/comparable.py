"""Whether rows of one folder may stand in one table with rows of another: one question, and one method behind a name.

What may differ is the log, the machine, and the true values within the error of measuring them.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ropeval.bench.results.rows import BASELINES, TRUTHS
from ropeval.errors import UserError

QUESTION = ["protocol", "task", "policy"]
VALUES = [f"{whose}_{truth}" for truth in TRUTHS for whose in ("truth", "random")]
FAR = 4.0  # standard errors between two measurements of one value: beyond, it is not one value
# Of a row's configuration: how its study was written down and counted, rather than how the method works.
NOT_THE_METHOD = ("grid", "preset", "key")


def refuse_disagreement(known: pl.DataFrame, more: pl.DataFrame, folder: Path) -> None:
    """`more`: all rows of `folder`, those that `known` has already among them."""
    _refuse_other_questions(known, more, folder)
    _refuse_other_methods(known, more, folder)
    _refuse_two_defaults(known, more, folder)


def _refuse_other_questions(known: pl.DataFrame, more: pl.DataFrame, folder: Path) -> None:
    for row in _first_of_both(known, more, QUESTION).iter_rows(named=True):
        for name in ("gamma", "policy_sha256"):
            if row[name] != row[f"{name}_known"]:
                raise UserError(
                    f"{folder}: {row['task']} has {name} {row[name]}, an earlier folder has {row[f'{name}_known']}: "
                    "another question, which cannot stand in one table with it. Report them apart"
                )
        for name in VALUES:
            _refuse_if_far(folder, row, name)


def _refuse_if_far(folder: Path, row: dict[str, Any], name: str) -> None:
    here, there = row[name], row[f"{name}_known"]
    if here is None or there is None:
        return
    error = np.hypot(row[f"{name}_se"] or 0.0, row[f"{name}_se_known"] or 0.0)
    if abs(here - there) > FAR * error and not np.isclose(here, there):
        raise UserError(
            f"{folder}: {row['task']} has {name} {here:.6g}, an earlier folder has {there:.6g}, more than {FAR:g} "
            f"standard errors ({error:.2g}) apart: other environments or policies? Report them apart"
        )


def _refuse_other_methods(known: pl.DataFrame, more: pl.DataFrame, folder: Path) -> None:
    """A method trained in another way is another method, and would be averaged with it."""
    for row in _first_of_both(known, more, ["protocol", "method", "hyper"]).iter_rows(named=True):
        here, there = _fields(row["config"]), _fields(row["config_known"])
        if row["method"] in BASELINES:
            here.pop("resamples", None)  # it gives them their interval alone, and every study has them
        # A field that only one of them has came with another version, which is not to part all older rows from newer.
        for name in here.keys() & there.keys():
            if here[name] != there[name]:
                raise UserError(
                    f"{folder}: {row['method']} has {name} {here[name]}, in an earlier folder {there[name]}: two "
                    "methods of one name. Report them apart"
                )


def _refuse_two_defaults(known: pl.DataFrame, more: pl.DataFrame, folder: Path) -> None:
    for row in _first_of_both(known.filter("default"), more.filter("default"), [*QUESTION, "method"]).iter_rows(
        named=True
    ):
        if row["hyper"] != row["hyper_known"]:
            raise UserError(
                f"{folder}: {row['task']}, {row['method']}: the default setting is {row['hyper']}, in an earlier "
                f"folder {row['hyper_known']}. Report them apart"
            )


def _first_of_both(known: pl.DataFrame, more: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """One row for each `key` that both have: that of `more`, with the columns of `known` as NAME_known."""
    first, second = (frame.unique(key, keep="first", maintain_order=True) for frame in (known, more))
    return second.join(first, on=key, suffix="_known", maintain_order="left")


def _fields(config: str | None) -> dict[str, Any]:
    """The configuration of a row, flat: {"fqe.steps": 300000, …}."""
    try:
        parts = json.loads(config or "{}")
    except ValueError:
        return {}
    if not isinstance(parts, dict):
        return {}
    flat: dict[str, Any] = {}
    for part, content in parts.items():
        if part not in NOT_THE_METHOD:
            flat |= {f"{part}.{n}": v for n, v in content.items()} if isinstance(content, dict) else {part: content}
    return flat
