"""What is written is read again."""

import numpy as np
import pytest

from ropeval.data import Dataset, load_dataset
from ropeval.data.writers import write_log
from ropeval.errors import UserError
from tests.data import logs


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("discrete", "probs"), [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("target", ["log.npz", "log.parquet", "columns", "minari"])
@pytest.mark.usefixtures("read_here")
def test_what_is_written_is_read_again(tmp_path, target, discrete, probs):
    if target == "minari":
        pytest.importorskip("minari")
    columns = logs.make_columns(discrete) | ({"log_probs": -np.arange(12.0, dtype=np.float32)} if probs else {})
    log = Dataset.from_columns({k: v for k, v in columns.items() if k != "time"})
    kind = target.removeprefix("log.")
    write_log([log], tmp_path / target, kind)
    back = load_dataset(tmp_path / target)
    assert back.sha256 == log.sha256
    assert (back.log_probs is not None) == probs
    assert [p.name for p in tmp_path.iterdir()] == [target]


def test_minari_cannot_hold_steps_that_do_not_chain(tmp_path, columns):
    with pytest.raises(UserError, match="write it as npz or parquet"):
        write_log([Dataset.from_columns(columns)], tmp_path / "log", "minari")
