"""The paper's three datasets of its own: 100K transitions, half by π_e, half by π_b, both stochastic SAC policies."""

from ropeval.bench.data.published import published
from ropeval.bench.data.tasks.sac import shipped
from ropeval.bench.data.tasks.task import paper_task

ORIGIN = "the paper's authors (Badger-RL/ROPE, SAC policies by Stable-Baselines3)"

TASKS = [
    paper_task(
        name="custom/swimmer",
        environment="ropeval.bench.data.swimmer:ropeval/Swimmer20-v0",
        evaluated=published("swimmer_model_sac_350000_steps", ORIGIN, "stochastic"),
        behaviour=published("swimmer_model_sac_220000_steps", ORIGIN, "stochastic"),
        mixture=("evaluated", "behaviour"),
        transitions=100_000,
        family="locomotion",
        about="half π_e, half π_b; the authors' SAC after 350K, 220K steps",
    ),
    paper_task(
        name="custom/halfcheetah",
        environment="HalfCheetah-v4",
        evaluated=published("cheetah_model_sac_420000_steps", ORIGIN, "stochastic"),
        behaviour=published("cheetah_model_sac_60000_steps", ORIGIN, "stochastic"),
        mixture=("evaluated", "behaviour"),
        transitions=100_000,
        family="locomotion",
        about="half π_e, half π_b; the authors' SAC after 420K, 60K steps",
    ),
    paper_task(
        name="custom/humanoidstandup",
        environment="HumanoidStandup-v4",
        evaluated=shipped("humanoidstandup_sac_final"),
        behaviour=shipped("humanoidstandup_sac_early"),
        mixture=("evaluated", "behaviour"),
        transitions=100_000,
        family="locomotion",
        about="half π_e, half π_b; own SAC policies, shipped (the authors' are not published)",
    ),
]
