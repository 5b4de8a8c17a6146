"""Run a notebook from top to bottom and keep its outputs: python scripts/run_notebook.py [examples/evaluate.ipynb]

It runs in an empty folder, so that it can rely on nothing but itself.
"""

import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).resolve().parents[1] / "examples" / "evaluate.ipynb"


def run(path: Path, folder: Path, timeout: int = 300) -> nbformat.NotebookNode:
    """The notebook with fresh outputs; a cell that fails is an error."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook, timeout=timeout, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # the clock of this machine is nobody's business
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return notebook


if __name__ == "__main__":
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else NOTEBOOK
    with tempfile.TemporaryDirectory() as folder:
        done = run(path, Path(folder))
    nbformat.write(done, path)
    print(f"written: {path.name}, {len(done.cells)} cells")
