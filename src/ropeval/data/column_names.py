"""What the columns of a log are called: Minari's names, what others call them, and what the user says.

`--columns terminations=done` and `--columns observations=s0,s1,x*` map a log's own names to ours. Three things that can
be said there are no columns: `truncations=never`, `terminations=always` (every row is an episode of its own, as in the
log of a bandit), and `action_names=none,low,high`, the order in which words for actions are numbered.
"""

import fnmatch
from collections.abc import Iterable, Mapping, Sequence

from ropeval.errors import UserError, bare, unknown_name

Mapped = dict[str, list[str]]  # our name -> the log's names, or patterns of them

# Our name, and under which names others keep the same thing. `done` is missing on purpose: it does not say whether
# the task ended or was cut off, and that decides whether the value beyond counts.
ALIASES: dict[str, tuple[str, ...]] = {
    "observations": ("observation", "obs", "states", "state"),
    "actions": ("action",),
    "rewards": ("reward",),
    "terminations": ("termination", "terminated", "terminals", "terminal"),
    "truncations": ("truncation", "truncated", "timeouts", "timeout"),
    "next_observations": ("next_observation", "next_obs", "next_states", "next_state"),
    "episode_ids": ("episode_id", "episode", "episodes", "trajectory_id", "traj_id"),
    "log_probs": ("log_prob", "action_log_probs", "logp"),
    "propensities": ("propensity", "pscore", "pscores", "action_prob", "action_probability"),
    "num_actions": (),
    "time": ("timestep", "step", "t"),
}
REQUIRED = ("observations", "actions", "rewards", "terminations", "truncations")
UNNUMBERED = ("propensities",)  # `action_prob_0`, `action_prob_1`, … are those of all actions, not of the logged one
AMBIGUOUS = ("done", "dones", "end", "ends", "last", "is_last")
DIGITS = 9  # of a number in a column's name; Python reads no integer of thousands
NEVER, ALWAYS = "never", "always"  # instead of a column of flags
ACTION_NAMES = "action_names"


def parse_columns(assignments: Iterable[str]) -> Mapped:
    """`["observations=s0,s1", "rewards=r"]`, as typed after `--columns`."""
    mapped: Mapped = {}
    for text in assignments:
        name, equals, value = text.partition("=")
        names = [part.strip() for part in value.split(",") if part.strip()]
        if not equals or not names:
            raise UserError(f"--columns {text}: expected NAME=COLUMN[,COLUMN…], for example observations=s0,s1,s2")
        name = "episode_ids" if name.strip() in ALIASES["episode_ids"] else name.strip()
        check_names([name])
        mapped[name] = mapped.get(name, []) + names
    return mapped


def check_names(names: Iterable[str]) -> None:
    for name in names:
        if name not in ALIASES and name != ACTION_NAMES:
            raise unknown_name("column of a log", name, [*ALIASES, ACTION_NAMES])


def said_flags(mapped: Mapping[str, list[str]]) -> dict[str, bool]:
    """Flags that are the same in every row, because the user says so."""
    said = {name: value == [ALWAYS] for name, value in mapped.items() if value in ([NEVER], [ALWAYS])}
    for name, always in said.items():
        if name not in ("terminations", "truncations") or (always and name == "truncations"):
            raise UserError(
                f"--columns {name}={mapped[name][0]}: only terminations and truncations can be said never to happen, "
                "and only terminations always"
            )
    return {"truncations": False} | said if said.get("terminations") else said


def find_names(available: Sequence[str], mapped: Mapping[str, list[str]], source: str) -> dict[str, list[str]]:
    """Which of the `available` columns are which of ours: as mapped, else by name, alias, or number (`obs_0`)."""
    check_names(mapped)
    said = said_flags(mapped)
    found = {}
    for ours, aliases in ALIASES.items():
        if ours in said:
            continue
        if ours in mapped:
            found[ours] = _matching(mapped[ours], available, ours, source)
            continue
        if ours == "log_probs" and "propensities" in mapped:
            continue  # who names the probabilities means them, perhaps in a column that is called log_probs
        for spelled in (_exactly, _otherwise):
            columns = next(filter(None, (spelled(name, ours, available, source) for name in (ours, *aliases))), None)
            if columns:
                found[ours] = columns
                break
    return found


def _exactly(name: str, ours: str, available: Sequence[str], source: str) -> list[str]:
    if name in available:
        return [name]
    return [] if ours in UNNUMBERED else numbered_columns(name, available, source)


def _otherwise(name: str, ours: str, available: Sequence[str], source: str) -> list[str]:
    """`Reward`, `Episode ID`, `episodeId`, `Obs_0`; but `T` is more likely a temperature than a time."""
    alike = [column for column in available if bare(column) == bare(name)] if len(name) > 1 else []
    if len(alike) == 1:
        return alike
    small = {column.lower(): column for column in available}
    return [small[column] for column in _exactly(name, ours, list(small), source) if column != name]


def numbered_columns(name: str, available: Iterable[str], source: str) -> list[str]:
    """`name_0`, `name_1`, … (or with a point, or in brackets) among the columns, in the order of the numbers."""
    places: dict[int, str] = {}
    for column in available:
        number = column.removeprefix(name).strip("_.[]")
        if column.startswith(name) and number.isdecimal() and len(number) <= DIGITS and column != name + number:
            other = places.setdefault(int(number), column)
            if other != column:
                raise UserError(
                    f"{source}: {other} and {column} are both number {int(number)} of {name}; rename one, or say which "
                    f"columns are meant with --columns {name}=…"
                )
    return [places[i] for i in sorted(places)]


def _matching(patterns: list[str], available: Sequence[str], ours: str, source: str) -> list[str]:
    found: list[str] = []
    for pattern in patterns:
        names = [pattern] if pattern in available else fnmatch.filter(available, pattern)
        if not names:
            shown = ", ".join(available[:20]) + (" …" if len(available) > 20 else "")
            raise UserError(f"{source}: --columns says {ours}={pattern}, but there is no such column; found {shown}")
        found += sorted(names, key=_natural) if pattern not in available else names
    return found


def _natural(name: str) -> tuple[str, int]:
    """x2 before x10."""
    head = name.rstrip("0123456789")
    return head, int(name[len(head) :][-DIGITS:] or -1)


def missing_message(source: str, missing: Sequence[str], available: Sequence[str]) -> str:
    """What to do about columns that no name led to."""
    shown = ", ".join(sorted(available)[:20]) + (" …" if len(available) > 20 else "") if available else "nothing"
    text = f"{source}: missing {', '.join(missing)}; found {shown}. "
    unclear = [name for name in available if name.lower() in AMBIGUOUS]
    if unclear and ("terminations" in missing or "truncations" in missing):
        return text + (
            f"Does {unclear[0]!r} mean that the task ended (--columns terminations={unclear[0]}) or that the episode "
            f"was cut off (--columns truncations={unclear[0]})? The other is then --columns …={NEVER}, if it never "
            "happens"
        )
    if missing == ["truncations"]:
        return text + (
            f"Give episode_ids, so that the ends of episodes can be seen, or --columns truncations={NEVER} if no "
            "episode was ever cut off"
        )
    text += (
        f"The names are Minari's; map your own with --columns {missing[0]}=YOUR_COLUMN (in Python: load_dataset(LOG, "
        f'columns={{"{missing[0]}": "YOUR_COLUMN"}}))'
    )
    if "terminations" not in missing:
        return text
    return text + f"; terminations={NEVER}: no episode ends by itself; terminations={ALWAYS}: every row is one"


def check_found(
    found: Mapping[str, object], mapped: Mapping[str, list[str]], available: Sequence[str], source: str
) -> None:
    """Refuse a log that lacks a needed column. With episode_ids, truncations follow from the ends of episodes."""
    said = said_flags(mapped)
    said |= {"truncations": False} if "episode_ids" in found else {}
    missing = [name for name in REQUIRED if name not in found and name not in said]
    if missing:
        raise UserError(missing_message(source, missing, available))
