"""Pickles read as a description. Nothing named in one is imported, nothing in one is called.

A pickle is a program for a small stack machine, and Python's own machine imports and calls whatever the program says.
This one runs the same program over inert values: a name becomes a `Global`, a call becomes a `Made` that remembers what
would have been called with what. The readers then look for the few shapes that they know (an array, a dtype, a tensor)
and never follow anything else. Names outside the reader's allow-list are refused on sight, although they would be
harmless here: a policy file that asks for `os.system` is not a policy file.
"""

import pickletools
import struct
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from ropeval.errors import UserError, first_line

MAX_OPCODES = 200_000  # a policy's pickle has a few thousand
MAX_INTEGER_DIGITS = 100
MODELS = ("sklearn", "xgboost", "lightgbm", "catboost", "joblib", "torch", "__main__")  # modules of what people pickle
WAY_OUT = (
    "; load the model in a function of your own, and give FILE.py:name (docs/start/formats.md: A function); of torch, "
    "save model.state_dict()"
)
# What `pickletools` raises where the bytes are no pickle.
MALFORMED = (ValueError, OverflowError, struct.error)


@dataclass(slots=True, eq=False, repr=False)
class Global:
    """A name that the pickle mentions: `module.name`, as text."""

    path: str


@dataclass(slots=True, eq=False, repr=False)
class Made:
    """What Python would have made by calling `path` with `args`, then set to `state` and filled with `items`."""

    path: str
    args: tuple[Any, ...]
    state: Any = None
    items: dict[Any, Any] = field(default_factory=dict)


@dataclass(slots=True, eq=False, repr=False)
class Persistent:
    """A reference to something outside the pickle; torch points to its storages with these."""

    reference: Any


MARK = object()


def read_pickle(content: bytes, allowed: Collection[str], where: str, persistent: bool = False) -> Any:
    """The value that a pickle describes, made of plain values, `Global`, `Made` and (if `persistent`) `Persistent`.

    `allowed` are the names, as `module.name`, that it may mention.
    """
    return _Machine(frozenset(allowed), where, persistent).run(content)


class _Machine:
    def __init__(self, allowed: frozenset[str], where: str, persistent: bool):
        self.allowed, self.where, self.persistent = allowed, where, persistent
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.at = 0

    def run(self, content: bytes) -> Any:
        count = 0
        try:
            for opcode, argument, position in pickletools.genops(content):
                self.at, count = position or 0, count + 1
                if count > MAX_OPCODES:
                    raise self._refusal(f"it has more than {MAX_OPCODES:,} instructions; a policy has a few thousand")
                if opcode.name == "STOP":
                    return self._pop()
                self._step(opcode.name, argument)
        except UserError:
            raise
        except MALFORMED as error:
            raise self._refusal(f"it is cut short or damaged ({first_line(error)})") from error
        raise self._refusal("it is cut short: its last instruction is missing")

    def _step(self, name: str, argument: Any) -> None:
        if name in LITERALS:
            self._literal(argument)
        elif name in CONSTANTS:
            self.stack.append(CONSTANTS[name]())
        elif name in HANDLERS:
            HANDLERS[name](self, argument)
        elif name in ("GLOBAL", "INST"):
            module, _, attribute = str(argument).partition(" ")
            self._global(module, attribute, called=name == "INST")
        elif name not in IGNORED:
            raise self._refusal(f"instruction {name} at byte {self.at}, which no policy file needs")

    def _refusal(self, why: str, way_out: str = "") -> UserError:
        return UserError(f"{self.where}: this pickle is refused: {why}; nothing in it was run{way_out}")

    def _literal(self, value: Any) -> None:
        if isinstance(value, int) and value.bit_length() > 4 * MAX_INTEGER_DIGITS:
            raise self._refusal(f"an integer of {value.bit_length()} bits at byte {self.at}")
        self.stack.append(value)

    # --- the stack

    def _pop(self) -> Any:
        if not self.stack or self.stack[-1] is MARK:
            raise self._refusal(f"it takes from an empty stack at byte {self.at}; damaged?")
        return self.stack.pop()

    def _pop_to_mark(self) -> list[Any]:
        for place in range(len(self.stack) - 1, -1, -1):
            if self.stack[place] is MARK:
                taken = self.stack[place + 1 :]
                del self.stack[place:]
                return taken
        raise self._refusal(f"it has no mark to go back to at byte {self.at}; damaged?")

    def _top(self) -> Any:
        value = self._pop()
        self.stack.append(value)
        return value

    def _discard(self, _: Any) -> None:
        if not self.stack:
            raise self._refusal(f"it takes from an empty stack at byte {self.at}; damaged?")
        self.stack.pop()  # a mark, too

    # --- names and calls: described, never done

    def _global(self, module: str, name: str, called: bool = False) -> None:
        path = f"{module}.{name}".replace("numpy.core.", "numpy._core.")  # NumPy 2 renamed it
        if path not in self.allowed or called:
            shown = path if len(path) < 200 else path[:200] + "…"
            raise self._refusal(
                f"it asks for {ascii(shown)[1:-1]}, which no such file needs",
                WAY_OUT if module.split(".")[0] in MODELS else "",
            )
        self.stack.append(Global(path))

    def _stack_global(self, _: Any) -> None:
        name, module = self._pop(), self._pop()
        if not isinstance(name, str) or not isinstance(module, str):
            raise self._refusal(f"a name at byte {self.at} is not text")
        self._global(module, name)

    def _call(self, _: Any) -> None:
        arguments, called = self._pop(), self._pop()
        if not isinstance(called, Global) or not isinstance(arguments, tuple):
            raise self._refusal(f"a call at byte {self.at} of something that has no name")
        self.stack.append(Made(called.path, arguments))

    def _build(self, _: Any) -> None:
        state, made = self._pop(), self._top()
        if not isinstance(made, Made) or made.state is not None:
            raise self._refusal(f"it changes something at byte {self.at} that has no state to set")
        made.state = state

    def _persistent(self, _: Any) -> None:
        if not self.persistent:
            raise self._refusal(f"a reference to something outside it at byte {self.at}")
        self.stack.append(Persistent(self._pop()))

    # --- containers

    def _tuple(self, count: int | None) -> None:
        taken = self._pop_to_mark() if count is None else [self._pop() for _ in range(count)][::-1]
        self.stack.append(tuple(taken))

    def _list(self, _: Any) -> None:
        self.stack.append(self._pop_to_mark())

    def _dict(self, _: Any) -> None:
        taken = self._pop_to_mark()
        self.stack.append({})
        self._fill(taken)

    def _append(self, values: list[Any]) -> None:
        target = self._top()
        if not isinstance(target, list):
            raise self._refusal(f"it appends at byte {self.at} to something that is not a list")
        target.extend(values)

    def _fill(self, taken: list[Any]) -> None:
        target = self._top()
        items = target.items if isinstance(target, Made) else target
        if not isinstance(items, dict) or len(taken) % 2:
            raise self._refusal(f"it sets items at byte {self.at} of something that has none")
        for key, value in zip(taken[::2], taken[1::2], strict=True):
            if not isinstance(key, str | int):  # hashing a tuple of tuples of … can take for ever
                raise self._refusal(f"a key at byte {self.at} is neither text nor a number")
            items[key] = value

    def _remember(self, place: Any) -> None:
        self.memo[len(self.memo) if place is None else int(place)] = self._top()

    def _recall(self, place: Any) -> None:
        if place not in self.memo:
            raise self._refusal(f"it recalls at byte {self.at} what it never remembered; damaged?")
        self.stack.append(self.memo[place])


IGNORED = frozenset({"PROTO", "FRAME"})
LITERALS = frozenset(
    {
        "BININT", "BININT1", "BININT2", "INT", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT",
        "UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8",
        "SHORT_BINBYTES", "BINBYTES", "BINBYTES8", "BYTEARRAY8",
    }
)  # fmt: skip
CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_TUPLE": tuple,
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
    "MARK": lambda: MARK,
}
HANDLERS: dict[str, Callable[[_Machine, Any], None]] = {
    "STACK_GLOBAL": _Machine._stack_global,
    "REDUCE": _Machine._call,
    "NEWOBJ": _Machine._call,
    "BUILD": _Machine._build,
    "BINPERSID": _Machine._persistent,
    "TUPLE": lambda machine, _: machine._tuple(None),
    "TUPLE1": lambda machine, _: machine._tuple(1),
    "TUPLE2": lambda machine, _: machine._tuple(2),
    "TUPLE3": lambda machine, _: machine._tuple(3),
    "LIST": _Machine._list,
    "DICT": _Machine._dict,
    "APPEND": lambda machine, _: machine._append([machine._pop()]),
    "APPENDS": lambda machine, _: machine._append(machine._pop_to_mark()),
    "SETITEM": lambda machine, _: machine._fill([machine._pop(), machine._pop()][::-1]),
    "SETITEMS": lambda machine, _: machine._fill(machine._pop_to_mark()),
    "MEMOIZE": lambda machine, _: machine._remember(None),
    "PUT": _Machine._remember,
    "BINPUT": _Machine._remember,
    "LONG_BINPUT": _Machine._remember,
    "GET": _Machine._recall,
    "BINGET": _Machine._recall,
    "LONG_BINGET": _Machine._recall,
    "POP": _Machine._discard,
}
