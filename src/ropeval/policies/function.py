"""Any Python function as a policy."""

import copy
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ropeval.arrays import AnyArray, Floats, Integers, Singles
from ropeval.errors import UserError, first_line
from ropeval.policies.policy import ALL_AT_ONCE, Policy, Space


class CallablePolicy(Policy):
    """Any Python function: `f(observations)` if deterministic, `f(observations, rng)` if stochastic.

    `log_prob(observations, actions) -> [n]` is optional, and only importance sampling asks for it; a function may
    also carry it as an attribute of that name. Where the log's actions are words, a function may answer with them.
    """

    _words: tuple[str, ...] | None = None  # of the log's discrete actions

    def __init__(
        self,
        function: Callable[..., Any],
        deterministic: bool,
        name: str | None = None,
        log_prob: Callable[..., Any] | None = None,
    ):
        self.name = name or str(getattr(function, "__name__", "function"))
        self.deterministic = deterministic
        self._function = function
        self._log_prob: Callable[..., Any] | None = log_prob or getattr(function, "log_prob", None)

    def _told(self, space: Space) -> "CallablePolicy":
        told = copy.copy(self)
        told.discrete, told.action_size = space.discrete, space.action_size
        told._words = space.action_names if space.discrete else None
        return told

    def sample(self, observations: Singles, rng: np.random.Generator) -> AnyArray:
        given = (observations.copy(),) if self.deterministic else (observations.copy(), rng)  # it may change them
        try:
            answer = self._function(*given)
        except Exception as error:  # the user's own code: say that it was theirs, and what it said
            raise UserError(
                f"policy {self.name}: it failed on observations of shape {observations.shape}: "
                f"{type(error).__name__}: {error}; {ALL_AT_ONCE}"
            ) from error
        answer = self._as_array(answer, len(observations))
        return answer if self._words is None or answer.dtype.kind not in "UO" else self._numbered(answer)

    def _as_array(self, answer: Any, rows: int) -> AnyArray:
        if answer is None:
            raise UserError(f"policy {self.name}: it gave nothing; does it lack a return?")
        if isinstance(answer, tuple) and len(answer) != rows:
            raise UserError(
                f"policy {self.name}: it gave {len(answer)} things at once; return the actions alone (of "
                "Stable-Baselines3's predict: lambda observations: model.predict(observations, deterministic=True)[0])"
            )
        try:
            return np.asarray(answer)
        except Exception as error:  # rows of unequal length, or a tensor that has a gradient or lies on a GPU
            raise UserError(
                f"policy {self.name}: its answer, a {type(answer).__name__}, is no array ({first_line(error)}); of "
                "torch, return actions.detach().cpu().numpy()"
            ) from error

    def _numbered(self, words: AnyArray) -> Integers:
        assert self._words is not None
        places = {word: place for place, word in enumerate(self._words)}
        flat = [str(word) for word in words.reshape(-1)]
        unknown = next((word for word in flat if word not in places), None)
        if unknown is not None:
            raise UserError(
                f"policy {self.name}: it gave action {unknown!r}, but the log has only {', '.join(self._words[:20])}"
            )
        return np.array([places[word] for word in flat], np.int64).reshape(words.shape)

    @property
    def has_log_prob(self) -> bool:
        return not self.deterministic and self._log_prob is not None

    def log_prob(self, observations: Singles, actions: AnyArray) -> Floats:
        if self._log_prob is None:
            return super().log_prob(observations, actions)
        try:
            answer = self._log_prob(observations.copy(), actions.copy())
        except Exception as error:  # the user's own code again
            raise UserError(
                f"policy {self.name}: its log_prob failed on observations of shape {observations.shape} and actions "
                f"of shape {actions.shape}: {type(error).__name__}: {error}"
            ) from error
        return np.asarray(answer)


def from_function(function: Callable[..., Any], name: str | None = None, where: str = "policy") -> CallablePolicy:
    """A policy of a plain function: deterministic if it takes observations alone, stochastic if it takes an rng, too.

    `where` stands at the beginning of messages.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError) as error:
        raise UserError(f"{where}: its arguments cannot be seen ({error}); wrap it in CallablePolicy") from error
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p for p in positional if p.default is p.empty]
    if len(needed) not in (1, 2):
        raise UserError(
            f"{where}: it takes {len(needed)} arguments; expected f(observations) for a deterministic "
            "policy or f(observations, rng) for a stochastic one"
        )
    return CallablePolicy(function, deterministic=len(needed) == 1, name=name)
