"""The paper's three datasets of its own: 100K transitions, half by π_e, half by π_b, both stochastic SAC policies."""

from ropeval.bench.data.published import published
from ropeval.bench.data.tasks.sac import half_and_half, shipped

ORIGIN = "the paper's authors (Badger-RL/ROPE, SAC policies by Stable-Baselines3)"

TASKS = [
    half_and_half(
        "custom/swimmer",
        "ropeval.bench.data.swimmer:ropeval/Swimmer20-v0",
        published("swimmer_model_sac_350000_steps", ORIGIN, "stochastic"),
        published("swimmer_model_sac_220000_steps", ORIGIN, "stochastic"),
        "the authors' SAC after 350K, 220K steps",
    ),
    half_and_half(
        "custom/halfcheetah",
        "HalfCheetah-v4",
        published("cheetah_model_sac_420000_steps", ORIGIN, "stochastic"),
        published("cheetah_model_sac_60000_steps", ORIGIN, "stochastic"),
        "the authors' SAC after 420K, 60K steps",
    ),
    half_and_half(
        "custom/humanoidstandup",
        "HumanoidStandup-v4",
        shipped("humanoidstandup_sac_final"),
        shipped("humanoidstandup_sac_early"),
        "own SAC policies, shipped (the authors' are not published)",
    ),
]
