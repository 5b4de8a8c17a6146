"""What may happen: how returns spread, who is still there, where it pays to start, and the ways that columns take."""

from collections.abc import Sequence

import numpy as np

from ropeval.evaluation.result import Estimate
from ropeval.report.chart import Chart, Entry, Panel, Series
from ropeval.report.html import Section
from ropeval.report.labels import number, shown
from ropeval.report.palette import INK, Style
from ropeval.report.risk import risk_table
from ropeval.report.run_page.legend import LOG, policy_legend
from ropeval.report.run_page.outcome import Outcome
from ropeval.report.table import Table, Value

MOST_POLICIES = 12  # with a picture of their own
MOST_BANDS = 3  # policies whose bands may lie upon each other
LEFT = 0.005  # share of episodes below which a curve lies on the axis
THRESHOLD = Entry("threshold", Style(INK, "dot"))
SIMULATOR = Entry("the simulator", Style("c1"))


def simulated(outcome: Outcome) -> list[Estimate]:
    """The estimates that come with rollouts."""
    return [e for e in outcome.estimates if e.extras.get("returns")]


def add_may_happen(section: Section, outcome: Outcome) -> None:
    found = simulated(outcome)
    legend = policy_legend(list(dict.fromkeys(e.policy for e in found)))
    if found:
        section.text(what_it_is(found)).chart(returns_chart(found, legend))
    table = risk_table(outcome.estimates)
    if table is not None:
        section.table(table)
    for heading, chart in (
        ("Who is still there", survival_chart(found, legend)),
        ("Where it begins", starts_chart(found, legend)),
        ("The ways that columns take", paths_chart(found, legend)),
        ("Does the simulator repeat the log?", replay_chart(found)),
    ):
        if chart is not None:
            section.heading(heading).chart(chart)


def what_it_is(found: Sequence[Estimate]) -> str:
    """That it is the simulator's, what it leaves out, and how much of each number is not its own."""
    words = ["The pictures show the learned simulator's episodes, not the world's."]
    fallen = [f"{e.policy} {e.extras['fallback']:.0%}" for e in found if e.extras["fallback"] >= 0.005]
    if fallen:
        words.append(
            f"Of the numbers above, so much is the log's own value and not the simulator's: {', '.join(fallen)}."
        )
    if found[0].extras.get("stochastic"):
        words.append("It draws the noise of state changes that the log shows.")
    else:
        words.append(
            "It found no noise in the log's state changes and draws none: what spreads is where episodes begin, when "
            "they end, and what a stochastic policy draws."
        )
    words.append(
        "Rewards scatter in the log, and are drawn from it."
        if found[0].extras.get("noisy_rewards")
        else "Rewards are the mean of their state and action: around it the log's hardly scatter."
    )
    return " ".join(words)


def returns_chart(found: Sequence[Estimate], legend: dict[str, Entry]) -> Chart:
    drawn, rows = list[Series](), list[list[Value]]()
    for e in found:
        told = e.extras["returns"]
        drawn.append(legend[e.policy].series(_array(told["values"]), _array(told["shares"])))
        rows.append([e.policy, *told["values"]])
    shares = found[0].extras["returns"]["shares"]
    below = next((e.extras["risk"]["below"] for e in found if (e.extras.get("risk") or {}).get("below")), None)
    seen = np.concatenate([series.x for series in drawn] + ([np.array([below["threshold"]])] if below else []))
    room = 0.03 * (float(np.ptp(seen)) or 1.0)
    if below:
        drawn.append(THRESHOLD.series(np.full(2, below["threshold"]), np.array([0.0, 1.0])))
    middle = shares.index(0.5)
    told_alt = ". ".join(
        f"{e.policy}: half earn at most {number(e.extras['returns']['values'][middle])}" for e in found
    )
    return Chart(
        slug="returns",
        title="Returns of single episodes",
        caption="Discounted. The steeper a curve, the more alike are the episodes.",
        panels=[Panel("", drawn)],
        legend=[*legend.values(), *([THRESHOLD] if below else [])],
        x_label="return",
        y_label="share of episodes that earn less",
        x_range=(float(seen.min()) - room, float(seen.max()) + room),
        y_range=(0.0, 1.02),
        y_percent=True,
        alt=f"How the returns of single episodes spread in the simulator. {told_alt}.",
        table=Table(["policy", *(f"{share:.0%}" for share in shares)], rows),
    )


def survival_chart(found: Sequence[Estimate], legend: dict[str, Entry]) -> Chart | None:
    known = [e for e in found if e.extras.get("survival")]
    if not known:
        return None
    first = known[0].extras["survival"]
    drawn = [LOG.series(_array(first["steps"]), _array(first["log"]))]
    rows: list[list[Value]] = [["the log itself", *_some(first["log"])]]
    for e in known:
        told = e.extras["survival"]
        drawn.append(legend[e.policy].series(_array(told["steps"]), _array(told["share"])))
        rows.append([e.policy, *_some(told["share"])])
    return Chart(
        slug="survival",
        title="Episodes that have not ended",
        caption="The log's own by Kaplan and Meier: an episode that was cut off counts up to there.",
        panels=[Panel("", drawn)],
        legend=[LOG, *(legend[e.policy] for e in known)],
        x_label="step",
        y_label="share of episodes",
        x_range=(0.0, _until(drawn)),
        y_range=(0.0, 1.02),
        y_percent=True,
        alt="Share of episodes that have not ended, over time: "
        + "; ".join(f"{e.policy} {_last(e.extras['survival']['share']):.0%} at the end" for e in known),
        table=Table(["policy", *(f"step {step}" for step in _some(first["steps"]))], rows),
    )


def starts_chart(found: Sequence[Estimate], legend: dict[str, Entry]) -> Chart | None:
    known = [e for e in found[:MOST_POLICIES] if e.extras["by_start"]["states"] > 1]
    if not known:
        return None
    panels, rows = [], list[list[Value]]()
    for e in known:
        told = e.extras["by_start"]
        values = _array(told["values"])
        alt = f"{e.policy}: from {number(values.min())} to {number(values.max())}, by {told['column']}."
        dots = legend[e.policy].series(_array(told["at"]), values, kind="dots")
        panels.append(Panel(f"{shown(e.policy)}: by {shown(told['column'])}", [dots], alt=alt))
        spread = np.quantile(values, [0.1, 0.5, 0.9]).tolist()
        rows.append([e.policy, told["column"], told["explained"], told["states"], told["rollouts"], *spread])
    columns = ["policy", "column", "share explained by it", "initial states", "rollouts each", "10%", "median", "90%"]
    return Chart(
        slug="starts",
        title="Value by initial state",
        caption="What rollouts from logged first states earn, against the column of these that tells most of it.",
        panels=panels,
        legend=[],
        x_label="value of the column",
        y_label="simulated value",
        table=Table(columns, rows),
    )


def paths_chart(found: Sequence[Estimate], legend: dict[str, Entry]) -> Chart | None:
    """A panel per column: the log's mean and band, and every policy's."""
    if not found or not found[0].extras["paths"]["columns"]:
        return None
    known, panels, rows = found[:MOST_POLICIES], list[Panel](), list[list[Value]]()
    steps = _array(found[0].extras["paths"]["steps"])
    for place, column in enumerate(found[0].extras["paths"]["columns"]):
        drawn = [LOG.series(steps, *_bands(column, "log_"))]
        rows.append([column["name"], "the log itself", *_some(column["log_mean"])])
        for e in known:
            own = e.extras["paths"]["columns"][place]
            mean, *band = _bands(own)
            drawn.append(legend[e.policy].series(steps, mean, *(band if len(known) <= MOST_BANDS else ())))
            rows.append([column["name"], e.policy, *_some(own["mean"])])
        panels.append(Panel(shown(column["name"]), drawn))
    return Chart(
        slug="paths",
        title="Columns along the rollouts",
        caption="Mean and 10–90 % band of the episodes that still run: rollouts, and logged ones. A policy may lead "
        "elsewhere than the one that wrote the log; but beyond the log's band there is little to learn from. The "
        "columns are those on which the log's own value depends most.",
        panels=panels,
        legend=[LOG, *(legend[e.policy] for e in known)],
        x_label="step",
        x_range=(0.0, max(float(s.x[np.isfinite(s.y)].max(initial=1.0)) for panel in panels for s in panel.series)),
        columns=min(2, len(panels)),
        table=Table(["column", "policy", *(f"step {step:g}" for step in _some(steps.tolist()))], rows),
    )


def replay_chart(found: Sequence[Estimate]) -> Chart | None:
    """One simulator serves all policies: any of them tells it."""
    told = found[0].extras.get("replays") if found else None
    if not told:
        return None
    steps = np.array([float(r["steps"]) for r in told])
    logged, predicted, error = (
        np.array([r[key] / r["steps"] for r in told]) for key in ("logged", "predicted", "error")
    )
    new, open_loop = (all(r.get(key) for r in told) for key in ("held_out", "open_loop"))
    falls = next((r["steps"] for r in told if not r.get("steady", True)), None)
    rows: list[list[Value]] = [
        [r["steps"], r["episodes"], r["logged"], r["predicted"], r["error"], r["logged_std"]] for r in told
    ]
    drawn = [
        LOG.series(steps, logged, kind="points"),
        SIMULATOR.series(steps, predicted, predicted - error, predicted + error, kind="points"),
    ]
    return Chart(
        slug="replays",
        title="Replayed episodes",
        caption="Reward per step over the first steps of logged episodes, with their own actions, "
        + ("each by the members that had not seen it" if new else "by members that had seen them")
        + (
            ": open loop, told the first state alone."
            if open_loop
            else ": step by step from logged states, since what happens by chance would not be the same again."
        )
        + " A bar is how far single episodes are off, on average."
        + (
            f" From {falls} steps on they say little: begun a little elsewhere, episodes end far apart, so that the "
            "least error grows by itself."
            if falls
            else ""
        ),
        panels=[Panel("", drawn)],
        legend=[LOG, SIMULATOR],
        x_label="steps",
        y_label="reward per step",
        x_log=True,
        x_range=(0.8, 1.25 * float(steps[-1])),
        alt="Reward per step of replayed episodes: "
        + "; ".join(
            f"{r['steps']} steps: logged {number(r['logged'])}, simulated {number(r['predicted'])}" for r in told
        ),
        table=Table(["steps", "episodes", "logged sum", "simulated", "mean error", "spread of episodes"], rows),
    )


def _bands(column: dict[str, list[float | None]], prefix: str = "") -> list[np.ndarray]:
    return [_array(column[prefix + key]) for key in ("mean", "low", "high")]


def _array(values: Sequence[float | None]) -> np.ndarray:
    return np.array([np.nan if value is None else value for value in values], float)


def _some(values: Sequence[float | None]) -> list[float | None]:
    """For tables: at most nine of them."""
    places = np.unique(np.linspace(0, len(values) - 1, 9).round().astype(int))
    return [values[place] for place in places]


def _until(curves: Sequence[Series]) -> float:
    """The last step at which somebody is left to be seen."""
    return max(float(series.x[np.nan_to_num(series.y) > LEFT].max(initial=1.0)) for series in curves)


def _last(values: Sequence[float | None]) -> float:
    return next((value for value in reversed(values) if value is not None), 0.0)
