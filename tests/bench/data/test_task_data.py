"""A collected task, read back."""

import json

from ropeval.bench.data.task_data import read_truth
from tests.bench.data.test_truth import truth_of


def test_earlier_true_values_are_read(tmp_path):
    one = truth_of(1, 0.1).model_dump()
    (tmp_path / "truth.json").write_text(json.dumps({"gamma": 0.5, "evaluated": one, "behaviour": one, "random": one}))
    truth = read_truth(tmp_path)
    assert list(truth.policies) == ["evaluated", "behaviour", "random"]
    assert (truth.gamma, truth.imprecise) == (0.5, ())
