"""`uniform` and `uniform:LOW,HIGH`."""

from ropeval.errors import UserError
from ropeval.policies.policy import Mode
from ropeval.policies.readers.policy_file import refuse_modes_but
from ropeval.policies.uniform import UniformPolicy


def recognises(text: str) -> bool:
    return text.partition(":")[0] == "uniform"


def read(text: str, mode: Mode | None) -> UniformPolicy:
    refuse_modes_but(("stochastic",), mode, "draws every action alike", f"policy {text}")
    bounds = text.partition(":")[2]
    if not bounds:
        return UniformPolicy(name=text)
    try:
        low, high = (float(part) for part in bounds.split(","))
    except ValueError:
        raise UserError(f"policy {text}: expected uniform:LOW,HIGH, for example uniform:-1,1") from None
    return UniformPolicy(low, high, name=text)
