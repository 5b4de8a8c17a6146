"""The paper's three datasets of its own: 100K transitions, half by π_e, half by π_b, both stochastic SAC policies."""

from ropeval.bench.data.tasks.sac import shipped
from ropeval.bench.data.tasks.task import PolicySource, paper_task

ORIGIN = "the paper's authors (Badger-RL/ROPE, SAC policies by Stable-Baselines3)"
SHA256 = {
    "cheetah_model_sac_420000_steps": (
        "73bf8a60c32e49e61ca49b28369186a2ff1625697ba755f356a7944585542ca5",
        "d45cb9f9fe4c7b9dde5a1460ef6464ecec7285a0997bd0cca5223d295ab01e6d",
    ),
    "cheetah_model_sac_60000_steps": (
        "6f33caf2a96dc933b8107a24a0b65b04a880c401d33fd735b55dc791b991f616",
        "ab046c75f6fcfda60de18a6d683633eacdef0fe4ebf97b4fb8673bd2f772ad42",
    ),
    "swimmer_model_sac_350000_steps": (
        "e6c08e3c44f0cf1df67ec8c5c5042c47f4bca311d515aac69e570a02d4b02063",
        "c098f441290fd2027f3883f1dba5188b6faa69bdc0a82ccbe7cbe32b0bd89bbf",
    ),
    "swimmer_model_sac_220000_steps": (
        "27a441c5707417adf25b07ed03b16fcdd5f92e8dfa96a5369e6a36ac09204a7f",
        "cbde8695a5e03bf8520d43fc44132a301f1e24010116a7b3e50464eb2b768d90",
    ),
}  # as published (.zip), and the same weights as .npz


def _published(name: str) -> PolicySource:
    archive, converted = SHA256[name]
    files = {f"{name}.zip": archive, f"{name}.npz": converted}
    return PolicySource(files=files, origin=ORIGIN, mode="stochastic")


TASKS = [
    paper_task(
        name="custom/swimmer",
        environment="ropeval.bench.data.swimmer:ropeval/Swimmer20-v0",
        evaluated=_published("swimmer_model_sac_350000_steps"),
        behaviour=_published("swimmer_model_sac_220000_steps"),
        mixture=("evaluated", "behaviour"),
        transitions=100_000,
        family="locomotion",
        about="half π_e, half π_b; the authors' SAC after 350K, 220K steps",
    ),
    paper_task(
        name="custom/halfcheetah",
        environment="HalfCheetah-v4",
        evaluated=_published("cheetah_model_sac_420000_steps"),
        behaviour=_published("cheetah_model_sac_60000_steps"),
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
