"""What is left of a run in its folder, once its answer has been printed."""

from collections.abc import Sequence
from pathlib import Path

from ropeval.evaluation.rank import Truth
from ropeval.evaluation.result import Estimate, Ranking
from ropeval.evaluation.session import add_truth, load_curves, write_results
from ropeval.report.run_page import draw_curves, write_page


def keep_results(results: Sequence[Estimate], ranking: Sequence[Ranking], folder: Path, truth: Truth | None) -> None:
    """Write a new run's results; to those of a finished one, add the true values that it has not been told yet."""
    if not (folder / "result.json").exists():
        write_results(results, ranking, folder, truth)
    elif truth:
        load_curves(folder)  # before anything is changed: they may not be readable
        if not add_truth(folder, ranking, truth):
            return
    else:
        return
    draw_curves(folder)
    write_page(folder)
