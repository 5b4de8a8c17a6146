"""The example notebook runs from top to bottom in a fresh kernel, and its stored outputs are those of such a run."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "examples" / "evaluate.ipynb"

nbformat = pytest.importorskip("nbformat", reason="the notebook packages are not installed")
pytest.importorskip("nbclient", reason="the notebook packages are not installed")
pytest.importorskip("ipykernel", reason="the notebook packages are not installed")


def runner():
    spec = importlib.util.spec_from_file_location("run_notebook", ROOT / "scripts" / "run_notebook.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.process
def test_it_runs(tmp_path):
    """Its own assertions compare with the closed form: here they only have to be reached."""
    done = runner().run(NOTEBOOK, tmp_path)
    cells = [cell for cell in done.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert sum("assert " in cell.source for cell in cells) >= 2
    assert (tmp_path / "result" / "report.html").stat().st_size > 1_000_000


def test_it_is_kept_as_it_was_run():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    kinds = [output.output_type for cell in cells for output in cell.outputs]
    assert "error" not in kinds
    assert "display_data" in kinds
    assert str(ROOT) not in NOTEBOOK.read_text(encoding="utf-8")
