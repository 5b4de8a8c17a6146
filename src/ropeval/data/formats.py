"""Reading logs: ropeval's own folder of columns, `.npz` with Minari's names, or a folder of such files."""

from pathlib import Path

from ropeval.data.columns import is_columns, open_columns
from ropeval.data.dataset import Dataset
from ropeval.errors import UserError
from ropeval.files import read_npz

COLUMNS = (
    "observations",
    "actions",
    "rewards",
    "terminations",
    "truncations",
    "next_observations",
    "episode_ids",
    "log_probs",
    "num_actions",
)


def load_dataset(path: str | Path) -> Dataset:
    """Read a log: a folder of columns, an `.npz` file, or a folder of those, joined in the order of their names."""
    path = Path(path)
    if is_columns(path):
        return open_columns(path)
    if path.is_dir():
        files = sorted(path.glob("*.npz"))
        if not files:
            raise UserError(f"{path}: this folder holds no .npz file; a log is one .npz or a folder of them")
        return Dataset.concatenate([_load_npz(f) for f in files], name=str(path))
    if not path.exists():
        raise UserError(f"{path}: no such log; check the path")
    if path.suffix != ".npz":
        raise UserError(f"{path}: cannot read {path.suffix or 'a file without ending'} as a log; expected .npz")
    return _load_npz(path)


def _load_npz(path: Path) -> Dataset:
    return Dataset.from_columns(read_npz(path, COLUMNS), name=str(path))
