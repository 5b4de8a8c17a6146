"""Counts add up over campaigns, also over those that were killed."""

from tests.fuzz.record import Record


def told(upto, wrong=None, **outcomes):
    return {"next": upto, "outcomes": outcomes, "wrong": wrong}


def test_counts_go_on_where_they_were_left(tmp_path):
    path = tmp_path / "record.json"
    first = Record.read(path, 7)
    first.add(told(1000, read=400, refused=600))  # and then it is killed
    second = Record.read(path, 8)
    assert (second.seed, second.next) == (7, 1000)
    second.add(told(1500, "a story", read=500))
    held = Record.read(path, 9)
    assert (held.next, held.outcomes, held.kept) == (1500, {"read": 900, "refused": 600}, [1499])
    assert held.commits.total() == 1500
    assert held.summary().split("(")[0] == "    1,500  files in all, 1 kept "


def test_without_a_file_nothing_is_written():
    record = Record.read(None, 7)
    record.add(told(10))
    assert record.next == 10
