"""`--ray` and what belongs to it, for the verbs that can spread their work over a cluster."""

from typing import TYPE_CHECKING, Annotated

import typer

from ropeval.evaluation.options import EFFORT

if TYPE_CHECKING:
    from ropeval.cluster import Cluster

RayOption = Annotated[
    str | None,
    typer.Option(
        "--ray",
        metavar="ADDRESS",
        help="Spread the work through Ray: HOST:PORT, auto, or local to start one here.",
        rich_help_panel=EFFORT,
    ),
]
GpusOption = Annotated[
    float, typer.Option("--gpus", help="With --ray: GPUs for each piece of work.", rich_help_panel=EFFORT)
]
CoresOption = Annotated[
    int, typer.Option("--cores", help="With --ray: cores for each piece of work.", rich_help_panel=EFFORT)
]


def asked_cluster(ray: str | None, gpus: float, cores: int) -> "Cluster | None":
    """The one that answers there, or None where none is asked for; before hours of other work."""
    if ray is None:
        return None
    from ropeval.cluster import Cluster, check_cluster

    cluster = Cluster(ray, gpus, cores)
    check_cluster(cluster)
    return cluster
