"""`package.module:name` or `FILE.py:name`: the one kind of policy that is code, run because its user named it."""

import inspect
from pathlib import Path
from typing import Any

from ropeval.errors import UserError
from ropeval.plugins import import_named, import_policy_file
from ropeval.policies.function import from_function
from ropeval.policies.policy import Mode, Policy
from ropeval.policies.readers.policy_file import refuse_modes_but


def recognises(text: str) -> bool:
    return _is_file(text.rpartition(":")[0]) or (":" in text and not text.startswith((".", "/")))


def _is_file(module: str) -> bool:
    return module.endswith(".py")


def read(text: str, mode: Mode | None) -> Policy:
    policy = _load(text)
    allowed: tuple[Mode, ...] = ("mean",) if policy.deterministic else ("stochastic",)
    refuse_modes_but(allowed, mode, f"is code, and {policy.kind}", f"policy {text}")
    return policy


def _load(text: str) -> Policy:
    module, _, attribute = text.rpartition(":")
    if _is_file(module) and not Path(module).is_file():
        raise UserError(f"policy {text}: there is no file {module}")
    try:
        found: Any = import_policy_file(Path(module)) if _is_file(module) else import_named(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise UserError(f"policy {text}: cannot import it ({error})") from error
    except Exception as error:  # the user's module itself failed
        raise UserError(f"policy {text}: its module failed: {type(error).__name__}: {error}") from error
    if isinstance(found, Policy):
        return found
    if inspect.isclass(found) or not callable(found):
        raise UserError(f"policy {text}: it is neither a function nor a Policy object")
    return from_function(found, text, f"policy {text}")
