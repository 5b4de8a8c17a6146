"""A training's programs, compiled before it is there: by its first chunk, or by what only looks like it."""

from functools import partial

import numpy as np

from ropeval.data.transitions import Transitions
from ropeval.learning.arrangements import Vectorised
from ropeval.learning.engine import Order, Run, Trained, chunk_length
from ropeval.learning.learner import Hyper, Learner


def first_chunk(
    learner: Learner, transitions: Transitions, hyper: Hyper, steps: int, run: Run, stage: str | None = None
) -> Trained:
    """As far as the same training comes with its first chunk, by the same programs: a rehearsal. The last chunk may be
    shorter, which is another program."""
    order = Order(learner, transitions, hyper, steps, run, stage or run.part)
    arrange, length = order.arranged(), min(chunk_length(steps), steps)
    told = partial(run.report, order.stage) if run.report else lambda share: None
    told(0.0)
    if isinstance(arrange, Vectorised):  # compiled beside what makes the first weights, which takes about as long
        for some in filter(None, (length, steps % length)):
            arrange.chunks(arrange.blank(), 0, some, told)
    state, ((seen,),) = arrange.chunks(arrange.init(), 0, length, told)
    curves = {name: values[None] for name, values in seen.items()}
    (reached,) = arrange.stack(state)
    return Trained(order.stage, reached, np.array([length]), curves, np.full(run.members, -1))


def blank(
    learner: Learner, transitions: Transitions, hyper: Hyper, steps: int, run: Run, stage: str | None = None
) -> Trained:
    """What the same training gives, as far as programs can tell: the same shapes in the same place, all zeros. Only
    where all members are one program."""
    order = Order(learner, transitions, hyper, steps, run, stage or run.part)
    arrange = order.arranged()
    assert isinstance(arrange, Vectorised), "each member has a program of its own"
    return Trained(order.stage, arrange.blank(), np.array([steps]), {}, np.full(run.members, -1))
