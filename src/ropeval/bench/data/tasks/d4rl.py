"""Nine datasets after D4RL: a million transitions each, by the public deep_ope policies.

Policy 10 (the last of its training) is evaluated, policy 5 is the lower one. Both act by a = tanh(mean + 0.1·std):
the paper's "noise of 0.1" is this constant.
"""

from ropeval.bench.data.tasks.task import PolicySource, paper_task
from ropeval.policies.policy import Mode

ORIGIN = "deep_ope, the policies of Benchmarks for Deep Off-Policy Evaluation (gs://offline-rl/evaluation/d4rl)"
SHA256 = {
    "halfcheetah_online_0": (
        "7a22a19a672add26f99cb98c07dd4ed614d332f862392268505ed9953624a7e9",
        "50b956acb737141d431d566f084a5eecfcdf798cb5e24e86e22af61f6b08ff89",
    ),
    "halfcheetah_online_2": (
        "1bc3e1a002588a40fdbc4ab404dd87a6c13e3ed074b19f9c9a00b237baf10e48",
        "7b60a3e754ed1eb5a14641e47ae3e0a08ed438d53c869e55f6b9af4162ce7110",
    ),
    "halfcheetah_online_4": (
        "7b02d060ead9d860afd14185f7d1ae1bee01192df8b1cb6d2b50ea4349c82a6f",
        "2eb517c40e811b3730ae62eb35fc21706e11da749af27e3bce78f95ac63bbcaf",
    ),
    "halfcheetah_online_5": (
        "e668cf7b9a820ac0767a5f4cf4240c112397fa1e8e216a5f08fe406ed21402e6",
        "2ab8a5abe89eddb156b596bee49eb4e2cc791565ba33f4188e1c8a5fed7eb2e8",
    ),
    "halfcheetah_online_6": (
        "22725657a796fe2e2fc3e79fcccf1ab410b249ce41831a1a6d5b303995ce41f2",
        "0b35ff1432aa745d70b8adb6b03370bb12a701b0d0859c808470c41f033e0ba4",
    ),
    "halfcheetah_online_8": (
        "8634260ffffd0f4a276a11ce1f5fed28737110dda366135d2a620411f1d27e4a",
        "63c6d016c723927c000a1f86d46fb2bc6f377816caec24bb167630b61f79c4d7",
    ),
    "halfcheetah_online_10": (
        "d04eea9aad5fe21358d3fdad1a3d3784eeb1356c14b1feb818c52978573fe290",
        "5c38d24e5ec9799a45c9f2f14c3b230415b2aa8599fd7ff4acda8306792ad1ca",
    ),
    "hopper_online_0": (
        "39edb7fa51e2ebaf9595f79ea4abdb65f78123d456ecda2b1516ebf9f18ac16a",
        "415a7b114927074ca6455af0d23e69583cecf36b7cbd023ba7e65a1ed5d4063f",
    ),
    "hopper_online_2": (
        "a5c541fb7474678736fe986ac66fea7591f4234db58d2dc9b3383048b4bcf9a1",
        "676334fb3a033d92b44715dad5bfdd9a7d595b81bd9dd66a9a6a075b491f95aa",
    ),
    "hopper_online_4": (
        "1ce5c5a633a89da3f81509881b6c1d618cedc07e2c5b9ff06bbe904c580c0d1d",
        "4d65a82e4f9b38c9b2eb815bd21f5f93c2827336ff83c181461114383b1416a9",
    ),
    "hopper_online_5": (
        "35cbbf83847f482d6f0eb4688f03966880b97ad9c622a8b11ad771c18088b250",
        "96d45715d0d282fe791fa8e846ca5df2bed643da71ee23e00711331446009c8a",
    ),
    "hopper_online_6": (
        "7c5dea6165817cd96477254ad35c9f5c3a6038e496df8158cf898755f3e65fb0",
        "98b7341d4be675b068ddaaf4bcbecd8068dc0ac41ddefab302b79298ed20f5bd",
    ),
    "hopper_online_8": (
        "1b6500039cec75c6be04ab9aed99ed2b2cad586e8e589f17c030ee0008011116",
        "81f9d6d71f9bedf37ab6f997647346b5dbe5d80fd8c174b5186640950fe1355f",
    ),
    "hopper_online_10": (
        "44a292f8db4274c475492aaa509ec4b7918fa15fb35c04f81f12e1ba0001045d",
        "91395a12e3d43169edaa39f97cad02614692cf2d9f97327bda52229cb1e0072c",
    ),
    "walker_online_0": (
        "6b8de95528ba92a1584c77d69198d9c9bef44972bcc9baf6fad3c00b08011864",
        "0b09d4dbf83d3c61c7dac7b79d3f42793feaeb9d7804797cbc14a2f5fb198f95",
    ),
    "walker_online_2": (
        "f6aebfe1083965b94267be8cb4e076eb562edc25b5e1ecbb1c8b2a1ed8b90372",
        "04bc0a8e469d2cd6b55ffa9b60d671d4c96a04ba6fc8d221b3e9284973bc98d8",
    ),
    "walker_online_4": (
        "5aacbfbec34d4292b261daaf7c40749ecd4934e0531f031f8557955e70be6933",
        "3387fbe6ccb3a4abd228d5e6473d35880f91d54b6e80188b36a18422d2356aaa",
    ),
    "walker_online_5": (
        "23e8a13ec8fb07484f2cb6a1b76c52f9f1f80b10646b5310ef17247629c2d7b7",
        "a87aa412cc53807dd7933a61abf7b56b4de419379ca5f745213bc80cc27438cd",
    ),
    "walker_online_6": (
        "8913efbbdcbce2f27c8d5f25baf9275e65f91895eaa407f540618f2b1db1325c",
        "e812c2da3b0b2139fbef70853a597b1891672ef50bea4c11098193fd908a7568",
    ),
    "walker_online_8": (
        "a5c29963fd9d0e143153b86f42184c821d78252feb5a3a58ec3f58aa9f789c06",
        "2802549b07921728de50b63716f2fef5996d7b4150e4306cd3a3d5b6761e525c",
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


def published(body: str, number: int, mode: Mode = "offset") -> PolicySource:
    """A deep_ope policy, 0 to 10 in the order of its training."""
    name = f"{body.removesuffix('2d')}_online_{number}"
    pickled, converted = SHA256[name]
    return PolicySource(files={f"{name}.pkl": pickled, f"{name}.npz": converted}, origin=ORIGIN, mode=mode)


TASKS = [
    paper_task(
        name=f"d4rl/{body}-{kind}",
        environment=environment,
        evaluated=published(body, 10),
        behaviour=published(body, 5),
        mixture=mixture,
        family="locomotion",
        about=f"{WRITTEN_BY[kind]}; deep_ope policies 10 (π_e), 5 (π_b)",
    )
    for body, environment in ENVIRONMENTS.items()
    for kind, mixture in MIXTURES.items()
]
