"""Evidence of all kinds, made up from an evaluation that nothing speaks against."""

from dataclasses import replace

import numpy as np

from ropeval.evaluation.result import Coverage

GAMMA, MEMBERS = 0.9, 2


def with_members(calm, *values):
    """Members that say other things."""
    lost = np.zeros(len(values), bool)
    return replace(calm, diverged=lost, estimated=replace(calm.estimated, values=np.array(values)))


class Residuals:
    """A q that is off by `seen` or `unseen` on average and by noise, by whether a member's log holds the episode."""

    def __init__(self, evidence, seen=0.0, unseen=0.0, noise=(1.0, 1.0)):
        self.evidence, self.means, self.noise = evidence, (seen, unseen), noise

    def backup(self, rows):
        data, counts = self.evidence.problem.dataset, self.evidence.run.counts
        held = counts[:, np.searchsorted(data.starts, rows, side="right") - 1] > 0
        normal = np.random.default_rng(0).standard_normal(held.shape)
        errors = np.where(held, self.means[0] + self.noise[0] * normal, self.means[1] + self.noise[1] * normal)
        return np.zeros_like(errors), errors


def covering(outside):
    return Coverage("p", [0.0, 0.5, 1.0], [0.0, 1.0, 2.0], [0.0, 4.0, 9.0], outside, 0.95, [], [], [0.5, 0.2])
