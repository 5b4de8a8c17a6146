"""JSON: one object per step."""

import json

import pytest

from ropeval.data import load_dataset
from ropeval.errors import UserError
from tests.data import logs

pytestmark = pytest.mark.usefixtures("read_here")


def test_a_list_is_the_same_log_as_lines(tmp_path):
    lines = logs.write_json(tmp_path, logs.make_columns())
    rows = [json.loads(line) for line in lines.read_text().splitlines()]
    (tmp_path / "log.json").write_text(json.dumps(rows))
    (tmp_path / "bom").write_bytes(b"\xef\xbb\xbf" + lines.read_bytes())
    expected = load_dataset(lines)
    assert load_dataset(tmp_path / "log.json").sha256 == load_dataset(tmp_path / "bom").sha256 == expected.sha256


STEP = {"obs": 1.0, "action": 0, "reward": 1.0, "terminated": True, "episode": 1}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (json.dumps(STEP)[:-5], "cannot be read as JSON, damaged or cut short"),
        ("[1, 2, 3]", "cannot be read as JSON"),
        (json.dumps({key: value for key, value in STEP.items() if key != "episode"}), "missing truncations"),
        (json.dumps(STEP | {"obs": {"x": 1.0}}), "Struct.* a column for each"),
        (json.dumps(STEP | {"obs": [[1.0], [2.0]]}), "not numbers"),
        (f"{json.dumps(STEP)}\n{json.dumps(STEP | {'obs': None})}", r"obs \(observations\) is empty in row 1"),
    ],
)
def test_what_is_no_log(tmp_path, content, said):
    (tmp_path / "log.jsonl").write_text(content)
    with pytest.raises(UserError, match=said):
        load_dataset(tmp_path / "log.jsonl")
