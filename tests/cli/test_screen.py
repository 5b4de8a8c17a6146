"""The screen shows names as words, and a screen that is gone or full stops nothing but the printing."""

import io
import sys

from ropeval.cli.screen import Screen, heard_or_not, say
from ropeval.report.table import Table
from ropeval.report.typeset import to_terminal

NAME = "x\x1b[31m\x9b\u202ey"


def test_no_name_is_a_command_to_the_terminal(capsys):
    screen = Screen(file=io.StringIO(), width=200)
    screen.print(f"note: {NAME}", markup=False)
    screen.print(to_terminal(Table([NAME, "b"], [[NAME, NAME]], title=NAME, caption=NAME)))
    say(NAME)
    shown = screen.file.getvalue() + capsys.readouterr().out  # type: ignore[attr-defined]
    assert shown.count("[31m") == 7
    assert not {"\x1b", "\x9b", "\u202e"} & set(shown)


def test_a_full_disk_behind_standard_output_is_told(monkeypatch):
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        with heard_or_not() as lost:
            print("lost")
        with heard_or_not() as later:
            print("nobody hears it")
    assert [error.strerror for error in lost] == ["No space left on device"]
    assert later == []
