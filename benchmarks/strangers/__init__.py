"""Tasks that played no part in making ropeval: what its default answers and verdicts are worth where nobody tuned.

The suite's dev tasks chose settings and limits, and its test tasks have been read more than once. These were written
down afterwards, with logs as people have them: a mixture of habits, some noise, a few thousand steps. Eleven are
closed: they are only reported on. `worlds.py` has those that are a few lines of arithmetic, `environments.py` those of
Gymnasium. Fourteen are open, for choosing what the suite's dev tasks are too few for: `open_things.py`,
`open_people.py`.

    python -m benchmarks.strangers                        the closed ones, about 20 minutes on two cores
    python -m benchmarks.strangers signal fishery
    python -m benchmarks.strangers --open                 the open ones, about as long

Two of them land on the moon and need two packages more: pip install box2d pygame
"""
