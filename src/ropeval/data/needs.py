"""What a method needs of a log and a policy: said once, for `ropeval methods`, and refused before any work is done."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from ropeval.data.dataset import Dataset
from ropeval.errors import UserError
from ropeval.policies.policy import Policy


@dataclass(frozen=True)
class Need:
    words: str  # as a list of needs says it: "discrete actions"
    missing: Callable[[Dataset, Policy], str | None]  # what is not there, "whose: sentence"; None: all is well
    instead: str  # what to do about it


def check_needs(name: str, needs: Sequence[Need], dataset: Dataset, policy: Policy) -> None:
    """Refuse what the part of this name cannot work with."""
    for need in needs:
        if found := need.missing(dataset, policy):
            raise UserError(f"{found}; {name} needs {need.words}: {need.instead}")


def package(module: str, extra: str) -> Need:
    """A library that comes with an extra, looked for and not loaded."""
    install = f"pip install 'ropeval[{extra}]'"
    return Need(
        f"{module} ({install})",
        lambda dataset, policy: None if find_spec(module) else f"{module} is not installed",
        "install it, or leave this method out",
    )


def _density(dataset: Dataset, policy: Policy) -> str | None:
    if not policy.deterministic or dataset.num_actions is not None:
        return None
    return f"policy {policy.name}: it is deterministic, so its actions have no densities to weigh the log by"


def _probability(dataset: Dataset, policy: Policy) -> str | None:
    if policy.has_probabilities:
        return None
    return f"policy {policy.name}: it cannot tell the probability of an action (it has no log_prob)"


def _discrete(dataset: Dataset, policy: Policy) -> str | None:
    return f"log {dataset.name}: its actions are continuous" if dataset.num_actions is None else None


def _critic(dataset: Dataset, policy: Policy) -> str | None:
    if policy.has_features:
        return None
    return f"policy {policy.name}: it has no action-value network to take features from"


PROPENSITIES = Need("propensities, logged or fitted", lambda dataset, policy: None, "")
STOCHASTIC = Need("a stochastic policy or discrete actions", _density, "leave it out (fqe and world take any policy)")
PROBABILITIES = Need(
    "π(a|s) of any action",
    _probability,
    "give log_prob(observations, actions) -> [n] to CallablePolicy, set it as an attribute of the function, or leave "
    "this method out",
)
DISCRETE = Need("discrete actions", _discrete, "leave it out (fqe and world take any actions)")
CRITIC = Need(
    "the policy's critic",
    _critic,
    "a policy file with critic_target/qf0/… (Stable-Baselines3), or a Policy with a method features",
)
WEIGHTS = (PROPENSITIES, STOCHASTIC, PROBABILITIES)  # of importance sampling, in all its forms
