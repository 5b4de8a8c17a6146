"""`package.module:name`: the one kind of policy that is code, run because its user named it."""

import inspect
from typing import Any

from ropeval.errors import UserError
from ropeval.plugins import import_named
from ropeval.policies.function import from_function
from ropeval.policies.policy import Mode, Policy
from ropeval.policies.readers.policy_file import refuse_modes_but


def recognises(text: str) -> bool:
    return ":" in text and not text.startswith((".", "/"))


def read(text: str, mode: Mode | None) -> Policy:
    policy = _load(text)
    allowed: tuple[Mode, ...] = ("mean",) if policy.deterministic else ("stochastic",)
    refuse_modes_but(allowed, mode, f"is code, and {policy.kind}", f"policy {text}")
    return policy


def _load(text: str) -> Policy:
    module_name, _, attribute = text.rpartition(":")
    try:
        found: Any = import_named(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise UserError(
            f"policy {text}: cannot import it ({error}){_said_as_a_file(module_name, attribute)}"
        ) from error
    except Exception as error:  # the user's module itself failed
        raise UserError(f"policy {text}: its module failed: {type(error).__name__}: {error}") from error
    if isinstance(found, Policy):
        return found
    if inspect.isclass(found) or not callable(found):
        raise UserError(f"policy {text}: it is neither a function nor a Policy object")
    return from_function(found, text, f"policy {text}")


def _said_as_a_file(module: str, attribute: str) -> str:
    """What to give in the place of a file's name; of one that lies elsewhere, where to stand."""
    if not module.endswith(".py"):
        return ""
    folder, _, file = module.rpartition("/")
    where = f", in the folder {folder}" if folder else ""
    return f"; a module is named without .py: give {file.removesuffix('.py')}:{attribute}{where}"
