"""Policies as they are handed over in Python or named on the command line: one or many, with names or without."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ropeval.errors import UserError
from ropeval.policies.function import from_function
from ropeval.policies.loaders import load_policy
from ropeval.policies.policy import Policy
from ropeval.policies.spec import exists, parse_spec

PolicyLike = Policy | str | Path | Callable[..., Any]
Policies = PolicyLike | Sequence[PolicyLike] | Mapping[str, PolicyLike]


def load_policies(given: Policies) -> list[Policy]:
    """One policy or many, each a `Policy`, a function, or a word for `load_policy`; names are the keys of a mapping.

    Files of the same name in different folders are told apart by their folders: `run1/best_model`, `run2/best_model`.
    """
    if isinstance(given, Mapping | Sequence) and not given:
        raise UserError("policies: none is given; what should be judged?")
    if isinstance(given, Mapping):
        return [as_policy(policy).named(str(name)) for name, policy in given.items()]
    many = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    policies = [as_policy(one) for one in many]
    alike: dict[str, dict[int, Path]] = {}  # name -> place -> folder, of those that are called after their files
    for place, (policy, one) in enumerate(zip(policies, many, strict=True)):
        file = _unnamed_file(one)
        if file is not None:
            alike.setdefault(policy.name, {})[place] = file.parent
    for name, folders in alike.items():
        if len(folders) > 1:
            for place, end in zip(folders, _telling_apart(list(folders.values())), strict=True):
                policies[place] = policies[place].named(f"{end}/{name}" if end else name)
    return policies


def as_policy(given: PolicyLike) -> Policy:
    """A policy as it is, of a function, or loaded."""
    if isinstance(given, Policy):
        return given
    if isinstance(given, str | Path):
        return load_policy(given)
    if callable(given) and not isinstance(given, type):
        name = str(getattr(given, "__name__", type(given).__name__))
        return from_function(given, name, f"policy {name}")
    raise UserError(f"policy: {_instead(given)}")


def _instead(given: Any) -> str:
    """What was handed over in the place of a policy, and what to do."""
    if isinstance(given, type):
        return f"{given.__name__} is a class; give an object of it"
    if hasattr(given, "predict"):
        return (
            f"found {type(given).__name__}, a model; give a function that answers with actions alone: lambda "
            "observations: model.predict(observations), and [0] behind it where predict gives more (Stable-Baselines3)"
        )
    return (
        f"found {type(given).__name__}; give a Policy, a function f(observations) or f(observations, rng), or what "
        "load_policy takes; ropeval.compare takes several, as a list or by their names"
    )


def _unnamed_file(given: PolicyLike) -> Path | None:
    """The file that a policy got its name from."""
    spec = parse_spec(str(given)) if isinstance(given, str | Path) else None
    return Path(spec.file).absolute() if spec and spec.name is None and exists(spec.file) else None


def _telling_apart(folders: list[Path]) -> list[str]:
    """The ends of paths, as short as they differ; empty where they do not."""
    for depth in range(1, max(len(folder.parts) for folder in folders)):
        ends = ["/".join(folder.parts[1:][-depth:]) for folder in folders]
        if len(set(ends)) == len(ends):
            return ends
    return [""] * len(folders)
