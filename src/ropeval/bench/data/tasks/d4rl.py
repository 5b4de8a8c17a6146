"""Nine datasets after D4RL: a million transitions each, by the public deep_ope policies.

Policy 10 (the last of its training) is evaluated, policy 5 is the lower one. Both act by a = tanh(mean + 0.1·std):
the paper's "noise of 0.1" is this constant.
"""

from ropeval.bench.data.tasks.task import PolicySource, paper_task

ORIGIN = "deep_ope, the policies of Benchmarks for Deep Off-Policy Evaluation (gs://offline-rl/evaluation/d4rl)"
SHA256 = {
    "halfcheetah_online_5": (
        "e668cf7b9a820ac0767a5f4cf4240c112397fa1e8e216a5f08fe406ed21402e6",
        "2ab8a5abe89eddb156b596bee49eb4e2cc791565ba33f4188e1c8a5fed7eb2e8",
    ),
    "halfcheetah_online_10": (
        "d04eea9aad5fe21358d3fdad1a3d3784eeb1356c14b1feb818c52978573fe290",
        "5c38d24e5ec9799a45c9f2f14c3b230415b2aa8599fd7ff4acda8306792ad1ca",
    ),
    "hopper_online_5": (
        "35cbbf83847f482d6f0eb4688f03966880b97ad9c622a8b11ad771c18088b250",
        "96d45715d0d282fe791fa8e846ca5df2bed643da71ee23e00711331446009c8a",
    ),
    "hopper_online_10": (
        "44a292f8db4274c475492aaa509ec4b7918fa15fb35c04f81f12e1ba0001045d",
        "91395a12e3d43169edaa39f97cad02614692cf2d9f97327bda52229cb1e0072c",
    ),
    "walker_online_5": (
        "23e8a13ec8fb07484f2cb6a1b76c52f9f1f80b10646b5310ef17247629c2d7b7",
        "a87aa412cc53807dd7933a61abf7b56b4de419379ca5f745213bc80cc27438cd",
    ),
    "walker_online_10": (
        "8d622f463f8c9128c11156c4d0be6577342c6b7ede2cfd319be64f2a36cd1155",
        "bcf72bf6049648dc65c5f0c488ac039cad1d3313fe2a367ada1de1bde8692ce6",
    ),
}  # as published (.pkl), and the same weights as .npz
ENVIRONMENTS = {"halfcheetah": "HalfCheetah-v4", "walker2d": "Walker2d-v4", "hopper": "Hopper-v4"}
MIXTURES: dict[str, tuple[str, ...]] = {
    "random": ("random",),
    "medium": ("behaviour",),
    "medium-expert": ("behaviour", "evaluated"),
}
WRITTEN_BY = {"random": "uniform actions", "medium": "π_b", "medium-expert": "half π_b, half π_e"}


def _published(body: str, number: int) -> PolicySource:
    name = f"{body.removesuffix('2d')}_online_{number}"
    pickled, converted = SHA256[name]
    return PolicySource(files={f"{name}.pkl": pickled, f"{name}.npz": converted}, origin=ORIGIN, mode="offset")


TASKS = [
    paper_task(
        name=f"d4rl/{body}-{kind}",
        environment=environment,
        evaluated=_published(body, 10),
        behaviour=_published(body, 5),
        mixture=mixture,
        family="locomotion",
        about=f"{WRITTEN_BY[kind]}; deep_ope policies 10 (π_e), 5 (π_b)",
    )
    for body, environment in ENVIRONMENTS.items()
    for kind, mixture in MIXTURES.items()
]
