"""Tasks of seconds, for tests, tutorials and `smoke.toml`: the demo's pendulum policies, shipped with the package."""

from importlib.resources import files

from ropeval.bench.data.tasks.task import PolicySource, paper_task

GAMMA = 0.95  # so that the time limit of 200 steps cuts off nothing: 0.95^200 < 1e-4
_POLICIES = files("ropeval.demo") / "policies"


def _demo(name: str) -> PolicySource:
    return PolicySource(spec=str(_POLICIES / f"{name}.npz"))


TASKS = [
    paper_task(
        name="tiny/pendulum",
        environment="Pendulum-v1",
        evaluated=_demo("swingup"),
        behaviour=_demo("cautious"),
        mixture=("evaluated", "behaviour", "random"),
        transitions=6_000,
        gamma=GAMMA,
        family="classic",
        about="the demo's swing-up; π_e, π_b and uniform actions, a third each",
    ),
    paper_task(
        name="tiny/pendulum-cautious",
        environment="Pendulum-v1",
        evaluated=_demo("cautious"),
        behaviour=_demo("swingup"),
        mixture=("behaviour", "random"),
        transitions=6_000,
        gamma=GAMMA,
        family="classic",
        about="the demo's cautious policy; half swing-up, half uniform actions",
    ),
]
