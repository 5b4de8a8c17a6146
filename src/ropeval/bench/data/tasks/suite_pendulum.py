"""The suite's share of `ropeval demo`: its four pendulum policies, one of which swings up.

Split: two policies each; `lazy` and `cautious` are for testing.
"""

from importlib.resources import files

from ropeval.bench.data.tasks.task import PolicySource, Task, world_id

_POLICIES = files("ropeval.demo") / "policies"

TASKS = [
    Task(
        name="suite/pendulum-demo",
        environment=world_id("Pendulum-v1"),
        policies={
            name: PolicySource(spec=str(_POLICIES / f"{name}.npz"), mode="stochastic")
            for name in ("lazy", "spinner", "cautious", "swingup")
        },
        judged={"lazy": "test", "spinner": "dev", "cautious": "test", "swingup": "dev"},
        writers={"cautious": 1, "spinner": 1, "random": 1},
        transitions=20_000,
        gamma=0.98,
        truth="known",
        family="classic",
        about="the demo's cautious and spinner policies and uniform actions, a third each",
    ),
]
