"""A packed study says what it said before, in fewer files."""

import json

import polars as pl
import pytest

from ropeval.bench.results.rows import load_curves, load_failures, load_rows
from ropeval.bench.run.pack import pack
from ropeval.bench.run.schema import CURVES, ROWS
from ropeval.bench.run.store import Store
from ropeval.bench.run.study import Study, make_groups
from ropeval.errors import UserError

STUDY = Study(name="small", tasks=["a/b"], methods=["fqe", "wis"], seeds=2)


def row(unit, member):
    columns = {
        name: {pl.String: "", pl.Float64: 1.0, pl.Int64: 0, pl.Boolean: False}[kind] for name, kind in ROWS.items()
    }
    own = {"unit": unit.id, "task": unit.task, "method": unit.method, "hyper": "{}", "seed": member.seed}
    return columns | own | {"policy": "evaluated", "protocol": "standard", "warnings": "[]", "extras": "{}"}


@pytest.fixture
def store(tmp_path):
    """fqe has finished; wis was refused."""
    store = Store(tmp_path / "study")
    store.create(STUDY, resume=False)
    for group in make_groups(STUDY, ["a/b"]):
        for unit in group.units(group.members, 1):
            if group.method == "wis":
                store.fail(unit, "evaluated", "no densities", refused=True)
            else:
                frame = pl.DataFrame([row(unit, member) for member in unit.members], schema=ROWS)
                curve = {"unit": unit.id, "task": "a/b", "method": group.method, "step": 1, "value": 0.5}
                store.write(unit, frame, pl.DataFrame([curve], schema=CURVES))
    return store


def everything(store):
    groups = make_groups(STUDY, ["a/b"])
    known = [(store.done(group), store.refused(group)) for group in groups]
    curves = load_curves(store.folder).cast(pl.String).sort("method").rows()
    return load_rows(store.folder).rows(), curves, sorted(load_failures(store.folder), key=str), known


def test_reports_and_resume_find_the_same(store):
    before = everything(store)
    assert pack(store.folder) == (4 + 4 + 2, 4 + 1 + 1)  # curves stay; rows, and what was refused, come together
    assert everything(store) == before
    assert pack(store.folder) == (6, 6)
    assert everything(store) == before


def test_what_is_tried_again_is_no_longer_refused(store):
    pack(store.folder)
    (wis,) = [group for group in make_groups(STUDY, ["a/b"]) if group.method == "wis"]
    store.clear_failures(wis)
    assert load_failures(store.folder) == []
    assert not store.refused(wis)


def test_damage_is_named(store):
    pack(store.folder)
    (store.folder / "units" / "packed.failed.json").write_text(json.dumps({"failures": [3]}))
    with pytest.raises(UserError, match=r"packed\.failed\.json: failures must be a list"):
        load_failures(store.folder)


def test_there_must_be_something_to_pack(tmp_path):
    Store(tmp_path).create(STUDY, resume=False)
    (tmp_path / "units").mkdir(exist_ok=True)
    with pytest.raises(UserError, match="nothing to pack"):
        pack(tmp_path)
