"""What a study of a finite MDP refuses."""

import numpy as np
import pytest

from ropeval.errors import UserError
from ropeval.tabular import study
from tests.tabular.strategies import garnet


def test_an_mdp_without_live_states_and_one_too_large_are_refused():
    mdp, pi, _ = garnet(2, 1, 1, seed=0)
    ended = type(mdp)(mdp.P, mdp.r, mdp.d0, mdp.gamma, [1, 1])
    with pytest.raises(UserError, match="every state is terminal"):
        study(ended, pi, pi)
    S = 6001
    wide = type(mdp)(np.ones((1, S, 1)), np.zeros((1, S)), [1.0], 0.5)
    with pytest.raises(UserError, match="1 states × 6001 actions"):
        study(wide, wide.uniform_policy(), wide.uniform_policy())
