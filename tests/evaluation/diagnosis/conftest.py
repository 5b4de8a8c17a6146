"""An evaluation that nothing speaks against."""

import numpy as np
import pytest

from ropeval.data import make_problem
from ropeval.estimators.estimator import Estimated
from ropeval.evaluation.diagnosis.evidence import Evidence
from ropeval.learning.engine import Run, member_keys
from ropeval.learning.resample import Resamples
from tests.evaluation.diagnosis.evidences import GAMMA, MEMBERS
from tests.problems import Chain


@pytest.fixture(scope="module")
def calm():
    """Nothing to complain about: a chain that ends, 200 episodes, two members that agree."""
    chain = Chain()
    problem = make_problem(chain.log(200, right=0.7), chain.policy(0.8), GAMMA, draws=2)
    run = Run(member_keys(0, MEMBERS), resamples=Resamples(0, 200))
    estimated = Estimated(np.array([0.3, 0.31]))
    return Evidence(problem, 0.3, np.zeros(MEMBERS, bool), {}, estimated, run, bounds=problem.log.bounds)
