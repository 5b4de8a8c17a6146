"""What these tests train, and on what: all alike, since every other shape would be another program to compile."""

from ropeval.data import Problem, make_problem
from ropeval.encoders.similarity import SimilarityConfig
from ropeval.estimators.fqe import FQEConfig
from tests.problems import LinearQuadratic

EPISODES, DRAWS = 60, 2
FQE = FQEConfig(width=16, depth=1, batch=32, steps=60)
ROPE = SimilarityConfig(width=16, depth=1, batch=32, steps=60)


def lq_problem() -> Problem:
    lq = LinearQuadratic()
    return make_problem(lq.log(EPISODES), lq.policy(0.5), 0.9, draws=DRAWS)
