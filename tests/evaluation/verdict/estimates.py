"""Estimates with signs, as a run would leave them."""

from ropeval.evaluation.result import Estimate, Interval

CALM = {"scale": 10.0, "spread": 0.01, "moved": 0.3, "beyond": 0.0, "outside": 0.05, "episodes": 100.0, "lost": 0.0}
FAMILIES = {"mean-return": "baselines", "fqe": "fitted Q", "fqe-clip": "fitted Q"}
SURE = {"support": 0.99, "fallback": 0.0, "apart": 0.2, "differ": 1.0}


def estimate(method, value, policy="new", **signs):
    return Estimate(
        policy=policy, policy_kind="deterministic", method=method, value=value, lowest=None, highest=None, members=[],
        diverged=[], warnings=[], config={}, data_sha256="", version="", seconds=0.0,
        interval=None if value is None else Interval(value - 1.0, value + 1.0, 0.95, "t", 5, 100),
        signs={} if value is None else CALM | signs, family=FAMILIES.get(method, ""),
    )  # fmt: skip


def world(value, **signs):
    return estimate("world", value, **(SURE | signs))
