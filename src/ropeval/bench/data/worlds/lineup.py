"""A world's policies, made when one is asked for."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from ropeval.policies.policy import Policy


class Lineup:
    """`module:policies.NAME` is how a task names one of them; making them may take a second."""

    def __init__(self, names: Iterable[str], make: Callable[[], Mapping[str, Policy]]):
        self._names, self._make = tuple(names), make
        self._made: Mapping[str, Policy] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __getattr__(self, name: str) -> Policy:
        if name.startswith("_") or name not in self._names:
            raise AttributeError(f"no policy {name!r} here")
        self._made = self._made or self._make()
        return self._made[name]
