"""From words to a session: the command line's options over the configuration file's over the preset's."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ropeval.data import load_dataset
from ropeval.data.column_names import parse_columns
from ropeval.errors import UserError, unknown_name
from ropeval.evaluation.evaluate import DEFAULT_GAMMA, DEFAULT_MEMBERS, Trust
from ropeval.evaluation.methods import DEFAULT_METHODS, check_overrides, make_method, parts
from ropeval.evaluation.session import Session
from ropeval.policies import load_policy
from ropeval.settings import parse_assignments, read_toml

TYPES: dict[str, tuple[type, ...]] = {
    "gamma": (float, int),
    "method": (list, str),
    "members": (int,),
    "steps": (int,),
    "seed": (int,),
    "draws": (int,),
    "preset": (str,),
    "interval": (str,),
    "level": (float,),
    "resample": (bool,),
    "tune": (bool,),
    "columns": (list,),
}


def build_session(
    log: str, policies: list[str], given: Mapping[str, Any], assignments: list[str], config: Path | None
) -> Session:
    """Read everything and check everything; nothing is written yet."""
    options, overrides = _from_file(config) if config else ({}, {})
    options |= {name: value for name, value in given.items() if value is not None and value != []}
    for part, fields in parse_assignments(assignments).items():
        overrides[part] = {**overrides.get(part, {}), **fields}
    steps = options.get("steps")
    if steps is not None:
        for part, entry in parts().items():
            if "steps" in entry.config.model_fields:
                overrides[part] = {"steps": steps, **overrides.get(part, {})}
    check_overrides(overrides)
    names = options.get("method", DEFAULT_METHODS)
    names = [names] if isinstance(names, str) else list(names)
    methods = [make_method(name, overrides, options.get("preset", "default")) for name in dict.fromkeys(names)]
    members = options.get("members", DEFAULT_MEMBERS)
    if members < 1:
        raise UserError(f"--members is {members}; at least 1 is needed")
    seed = options.get("seed", 0)
    if not 0 <= seed < 2**31:
        raise UserError(f"--seed is {seed}; it must be at least 0 and less than 2^31")
    return Session(
        dataset=load_dataset(log, parse_columns(map(str, options.get("columns", [])))),
        policies=[load_policy(spec) for spec in policies],
        methods=methods,
        gamma=float(options.get("gamma", DEFAULT_GAMMA)),
        members=members,
        seed=seed,
        draws=options.get("draws"),
        tune=bool(options.get("tune", False)),
        trust=Trust(**{name: options[name] for name in ("resample", "interval", "level") if name in options}),
    )


def read_truth(path: Path, policies: list[str]) -> dict[str, float]:
    """True values by the names of the policies, from a JSON file."""
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file of true values") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read as JSON ({error})") from None
    if not isinstance(known, dict):
        raise UserError(f'{path}: expected an object of names and values, for example {{"policy": 12.3}}')
    for name, value in known.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise UserError(f"{path}: the true value of {name!r} is {value!r}; it must be a finite number")
    found = {name: float(known[name]) for name in policies if name in known}
    if not found:
        raise UserError(
            f"{path}: it holds no value for {', '.join(map(repr, policies))}; found {', '.join(known) or 'nothing'}"
        )
    return found


def _from_file(path: Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """(options, overrides) of a TOML file: tables are parts, everything else is an option."""
    content = read_toml(path)
    overrides = {name: value for name, value in content.items() if isinstance(value, dict)}
    options = {name: value for name, value in content.items() if name not in overrides}
    for name, value in options.items():
        if name not in TYPES:
            raise UserError(f"{path}: {unknown_name('option', name, list(TYPES))}")
        if not isinstance(value, TYPES[name]) or isinstance(value, bool) != (TYPES[name] == (bool,)):
            raise UserError(f"{path}: {name} is {value!r}; expected {' or '.join(t.__name__ for t in TYPES[name])}")
    return options, overrides
