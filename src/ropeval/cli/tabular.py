"""`ropeval tabular …`: the exact side, on arrays. Parses, calls one function, prints."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ropeval.cli.screen import Screen
from ropeval.errors import unknown_name

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from ropeval.tabular.study import Study

app = typer.Typer(
    no_args_is_help=True,
    help="The paper's theory on finite MDPs, exact: metrics, groups, bounds, and the gridworld pictures.",
)

METRIC_NAMES = ("rope", "mico", "psm", "random")
METRIC_HELP = "rope, mico (on-policy), psm (policy similarity), random (the same random action), or all."
Metric = Annotated[str, typer.Option("--metric", "-m", help=METRIC_HELP, metavar="NAME")]


@app.command()
def gridworld(
    size: Annotated[int, typer.Option(help="Cells on a side, 2 to 25. The paper's grid has 3.")] = 3,
    metric: Metric = "all",
    out: Annotated[Path, typer.Option(help="Folder for the pictures (PNG and SVG).")] = Path(
        "ropeval-results/gridworld"
    ),
    reward: Annotated[
        str, typer.Option(help="Whose distance is paid: that of the current cell, or of the next.")
    ] = "current",
) -> None:
    """Draw the paper's gridworld: the action values, and how each metric groups the state-action pairs.

    The agent starts bottom left and ends top right; the reward is minus the
    Manhattan distance to the end. Every cell is cut into four triangles, one
    for each action. Pairs at distance 0 form a group. A metric suits
    evaluation when its groups are those of equal action value: nothing merged
    that differs, nothing split that is equal.

    Try it:

    \b
      ropeval tabular gridworld --out pictures
      ropeval tabular gridworld --size 5 --metric rope
    """
    metrics = _metrics(metric)
    from ropeval.tabular.figures import draw_gridworld
    from ropeval.tabular.files import folder
    from ropeval.tabular.gridworld import gridworld as build
    from ropeval.tabular.study import study

    grid = build(size, reward)  # type: ignore[arg-type]
    target = folder(out)
    result = study(grid.mdp, grid.pi_e, grid.pi_b, metrics)
    console = Screen()
    title = f"Gridworld {size}×{size}, γ = {grid.mdp.gamma:g}, reward of the {reward} cell"
    console.print(_table(result, title))
    paths = draw_gridworld(grid, result, target, metrics)
    console.print(f"{len(paths)} pictures in {target}: {', '.join(path.name for path in paths)}", soft_wrap=True)


@app.command()
def solve(
    file: Annotated[Path, typer.Argument(help="A .npz file with the arrays named above.", metavar="FILE.npz")],
    metric: Metric = "all",
    out: Annotated[
        Path | None, typer.Option(help="Folder for pairs.csv (q, occupancy, groups) and summary.json.")
    ] = None,
) -> None:
    """Solve your own finite MDP exactly: values, the metrics' groups, and the paper's bound beside the error.

    FILE.npz is made by numpy.savez and holds, for S states and A actions:

    \b
      P         [S,A,S]  transition probabilities
      r         [S,A]    expected rewards
      d0        [S]      start distribution
      gamma              one number in [0, 1)
      pi_e      [S,A]    the policy to evaluate
      pi_b      [S,A]    the behaviour policy (optional: uniform)
      terminal  [S]      flags 0 or 1 (optional: none)

    Rows of terminal states are ignored: they become self-loops with reward 0.

    Try it: a world of two states, where π_e stays where it is paid.

    \b
      python -c "import numpy as np; np.savez('two.npz', r=np.eye(2), d0=[1,0],
      P=np.full((2,2,2),.5), gamma=.9, pi_e=np.eye(2))"
      ropeval tabular solve two.npz --out solved
    """
    metrics = _metrics(metric)
    from ropeval.tabular.files import folder, load_npz
    from ropeval.tabular.study import study, write_study

    mdp, policies = load_npz(file)
    target = folder(out) if out is not None else None
    result = study(mdp, policies["pi_e"], policies["pi_b"], metrics)
    console = Screen()
    title = f"{file}: {mdp.num_states} states × {mdp.num_actions} actions, γ = {mdp.gamma:g}"
    console.print(_table(result, title))
    if result.merging:
        console.print(_merging(result))
    if target is not None:
        paths = write_study(result, target)
        console.print(f"written: {', '.join(str(path) for path in paths)}", soft_wrap=True)


def _metrics(name: str) -> list[str]:
    if name != "all" and name not in METRIC_NAMES:
        raise unknown_name("metric", name, [*METRIC_NAMES, "all"])
    return list(METRIC_NAMES) if name == "all" else [name]


def _table(result: "Study", title: str) -> "RichTable":
    from ropeval.report.table import Table
    from ropeval.report.typeset import to_terminal

    caption = (
        f"ρ(π_e) = {result.value_e:.6g}, ρ(π_b) = {result.value_b:.6g} (expected discounted return). "
        f"Groups: pairs at distance 0. Merged: pairs of pairs in one group although their q differ (misaligned). "
        "Split: equal q, different groups. Error: of q when each group shares one value, "
        "and the bound 2ε/(1−γ) where the metric gives one."
    )
    rows = [["q of π_e", str(result.q_count), "0", "0", "yes", "–", "–"]]
    for name, groups in result.groups.items():
        error, counts = groups.aggregated, (groups.count, groups.merged, groups.split)
        shown = f"{error.q_error:.3g}" if error.q_error > 1e-9 * (1 + abs(result.q).max()) else "0"
        bound = f"{error.bound:.3g}" if name == "rope" else "–"
        rows.append([name, *map(str, counts), "yes" if groups.aligned else "no", shown, bound])
    columns = ["grouping", "groups", "merged", "split", "as q", "error of q", "bound"]
    return to_terminal(Table(columns, rows, title, caption, left=1))


def _merging(result: "Study") -> "RichTable":
    from ropeval.report.table import Table
    from ropeval.report.typeset import to_terminal

    caption = "Two merged pairs are at most 2ε apart under ROPE. Lemma 1 bounds the error of q, Theorem 2 that of ρ."
    rows = []
    for one in result.merging:
        numbers = (one.radius, one.q_error, one.value_error, one.bound)
        rows.append([str(one.clusters), *(f"{number:.3g}" if number > 1e-12 else "0" for number in numbers)])
    columns = ["clusters", "ε", "error of q", "error of ρ", "bound 2ε/(1−γ)"]
    return to_terminal(Table(columns, rows, "Merging within ε", caption, left=0))
