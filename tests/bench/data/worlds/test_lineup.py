"""The policies of every world: named in order of what they are worth."""

import numpy as np
import pytest

from ropeval.bench.data.worlds import bandit, chain, epidemic, icu, inventory, linear
from ropeval.policies import load_policy

TABLES = {"chain": chain, "inventory": inventory, "epidemic": epidemic, "icu": icu}


PLACE = "ropeval.bench.data.worlds"


@pytest.mark.parametrize("world", [*TABLES, "bandit", "linear"])
def test_policies_go_from_weak_to_strong(world):
    modules = {**TABLES, "bandit": bandit, "linear": linear}
    values = []
    for name in modules[world].policies:
        policy = load_policy(f"{PLACE}.{world}:policies.{name}")
        assert policy.sha256 == getattr(modules[world].policies, name).sha256
        if world in TABLES:
            answer = TABLES[world].world().answer(policy, TABLES[world].GAMMA, TABLES[world].TIME_LIMIT)
        else:
            answer = bandit.answer(policy) if world == "bandit" else linear.answer(policy, linear.GAMMA, 200)
        values.append(answer.discounted)
    assert len(values) >= 5
    assert (np.diff(values) > 0.02 * (values[-1] - values[0])).all()
