"""Tasks that played no part in making ropeval: what its default answers and verdicts are worth where nobody tuned.

The suite's dev tasks chose settings and limits, and its test tasks have been read more than once. These eleven were
written down afterwards, with logs as people have them: a mixture of habits, some noise, a few thousand steps.
`worlds.py` has those that are a few lines of arithmetic, `environments.py` those of Gymnasium.

    python -m benchmarks.strangers                        all of them, about 20 minutes on two cores
    python -m benchmarks.strangers signal fishery

Two of them land on the moon and need two packages more: pip install box2d pygame
"""
