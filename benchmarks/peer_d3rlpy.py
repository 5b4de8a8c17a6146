"""d3rlpy's FQE step, timed. Run by speed.py inside d3rlpy's own environment; prints one line of JSON."""

import json
import sys
import time

import d3rlpy
import numpy as np
import torch

batch, width, features, seconds = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
ACTIONS = 6
EPISODES, LENGTH = 100, 1000

rng = np.random.default_rng(0)
dataset = d3rlpy.dataset.MDPDataset(
    observations=rng.standard_normal((EPISODES * LENGTH, features - ACTIONS), np.float32),
    actions=np.clip(rng.standard_normal((EPISODES * LENGTH, ACTIONS), np.float32), -1, 1),
    rewards=rng.standard_normal(EPISODES * LENGTH).astype(np.float32),
    terminals=np.zeros(EPISODES * LENGTH, np.float32),
    timeouts=(np.arange(EPISODES * LENGTH) % LENGTH == LENGTH - 1).astype(np.float32),
)
encoder = d3rlpy.models.VectorEncoderFactory([width, width])
policy = d3rlpy.algos.TD3Config(actor_encoder_factory=encoder, critic_encoder_factory=encoder).create(device="cpu:0")
policy.build_with_dataset(dataset)
fqe = d3rlpy.ope.FQE(
    algo=policy, config=d3rlpy.ope.FQEConfig(batch_size=batch, learning_rate=1e-4, encoder_factory=encoder)
)
fqe.build_with_dataset(dataset)


def steps(count: int) -> float:
    """Sampling included, logging and evaluation not."""
    began = time.perf_counter()
    for _ in range(count):
        fqe.update(dataset.sample_transition_batch(batch))
    return time.perf_counter() - began


steps(20)
count = max(20, int(20 * seconds / steps(20)))
best = min(steps(count) for _ in range(3))
print(json.dumps({"ms_per_step": 1e3 * best / count, "version": d3rlpy.__version__, "torch": torch.__version__}))
