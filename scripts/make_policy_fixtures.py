"""Make the small policy files of tests/policies/files, and what Stable-Baselines3 itself answers for them.

    pip install torch stable-baselines3 onnx                      # in an environment of its own
    python scripts/make_policy_fixtures.py tests/policies/files

The tests read the files without either package and compare the answers.
"""

import sys
import zipfile
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import stable_baselines3 as sb3
import torch
from gymnasium import spaces
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

LOW, HIGH = np.array([-2, 0], np.float32), np.array([2, 10], np.float32)
KEPT = ("data", "policy.pth", "_stable_baselines3_version")  # the rest is optimisers, and what machine it was
OFF_POLICY = {"buffer_size": 100, "learning_starts": 10, "batch_size": 8, "seed": 0}
ON_POLICY = {"n_steps": 32, "seed": 0}


class Toy(gym.Env):
    """Observations are noise; the point is that the files have been trained on something."""

    def __init__(self, discrete: bool = False):
        self.observation_space = spaces.Box(-np.inf, np.inf, (3,), np.float32)
        self.action_space = spaces.Discrete(4) if discrete else spaces.Box(LOW, HIGH)

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.time = 0
        return self._observe(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.time += 1
        reward = self.seen[int(action) % 3] if isinstance(self.action_space, spaces.Discrete) else -np.abs(action).sum()
        return self._observe(), float(reward), False, self.time >= 10, {}

    def _observe(self) -> Any:
        self.seen = (3 * self.np_random.standard_normal(3) + [1, 2, 3]).astype(np.float32)
        return self.seen


class Parts(Toy):
    """The same task, observed in parts: Gymnasium's flattening has to agree with Stable-Baselines3's."""

    def __init__(self) -> None:
        super().__init__()
        parts = {
            "speed": spaces.Box(-9, 9, (2,), np.float32),
            "gear": spaces.Discrete(3),
            "at": spaces.Box(-9, 9, (1, 2)),
        }
        self.observation_space = spaces.Dict(parts)

    def _observe(self) -> Any:
        super()._observe()
        return {"speed": self.seen[:2], "gear": int(self.seen[2] > 3), "at": self.seen[None, 1:]}


def small() -> dict[str, Any]:
    return {"net_arch": [4, 3]}  # a new one for each: Stable-Baselines3 writes into it


def make_models(folder: Path) -> dict[str, Any]:
    relu, tanh = torch.nn.ReLU, torch.nn.Tanh
    normalised = VecNormalize(DummyVecEnv([Toy]), clip_obs=2.0)
    models = {
        "sac": sb3.SAC("MlpPolicy", Toy(), policy_kwargs=small(), **OFF_POLICY),
        "sac_tanh": sb3.SAC(
            "MlpPolicy",
            Toy(),
            policy_kwargs={"net_arch": {"pi": [5], "qf": [3, 2]}, "activation_fn": tanh, "n_critics": 1},
            **OFF_POLICY,
        ),
        "sac_sde": sb3.SAC("MlpPolicy", Toy(), use_sde=True, policy_kwargs=small(), **OFF_POLICY),
        "td3": sb3.TD3("MlpPolicy", Toy(), policy_kwargs=small(), **OFF_POLICY),
        "dqn": sb3.DQN("MlpPolicy", Toy(discrete=True), learning_rate=0.1, policy_kwargs=small(), **OFF_POLICY),
        "ppo": sb3.PPO("MlpPolicy", Toy(), batch_size=16, policy_kwargs=small(), **ON_POLICY),
        "ppo_normalised": sb3.PPO(
            "MlpPolicy",
            normalised,
            batch_size=16,
            policy_kwargs={"net_arch": {"pi": [4], "vf": [2]}, "activation_fn": relu},
            **ON_POLICY,
        ),
        "ppo_discrete": sb3.PPO("MlpPolicy", Toy(discrete=True), batch_size=16, policy_kwargs=small(), **ON_POLICY),
        "ppo_parts": sb3.PPO("MultiInputPolicy", Parts(), batch_size=16, policy_kwargs=small(), **ON_POLICY),
        "a2c_flat": sb3.A2C("MlpPolicy", Toy(), policy_kwargs={"net_arch": []}, **ON_POLICY),
    }
    for name, model in models.items():
        model.learn(200 if name == "dqn" else 64)
        model.save(folder / f"{name}.zip")
        if name == "ppo_discrete":
            export_as_documented(model.policy, folder / "ppo_documented.onnx")
        keep(folder / f"{name}.zip")
    normalised.save(str(folder / "vecnormalize.pkl"))
    normalised.training = False
    return models


class Documented(torch.nn.Module):  # type: ignore[misc]
    """What the pages of Stable-Baselines3 say to export: actions, values, and log probabilities."""

    def __init__(self, policy: Any):
        super().__init__()
        self.policy = policy

    def forward(self, observation: Any) -> Any:
        return self.policy(observation, deterministic=True)


def export_as_documented(policy: Any, path: Path) -> None:
    shape = policy.observation_space.shape
    torch.onnx.export(Documented(policy), (torch.zeros(1, *shape),), path, opset_version=17, dynamo=False)


def keep(path: Path) -> None:
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in KEPT}
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members.items():
            file.writestr(zipfile.ZipInfo(name), content)


@torch.no_grad()  # type: ignore[untyped-decorator]
def answers(name: str, model: Any, observations: np.ndarray, actions: np.ndarray) -> dict[str, np.ndarray]:
    """What Stable-Baselines3 says: deterministic actions, log-probabilities and critic features, where it has them."""
    seen = observations
    if name == "ppo_normalised":
        seen = model.get_vec_normalize_env().normalize_obs(observations)
    if name == "ppo_parts":
        return parts_answers(model)
    result = {"action": model.predict(seen, deterministic=True)[0]}
    states = torch.as_tensor(seen)
    if name.startswith("sac"):
        scaled = torch.as_tensor(model.policy.scale_action(actions))
        mean, log_std, _ = model.actor.get_action_dist_params(states)
        inside = model.actor.action_dist.proba_distribution(mean, log_std).log_prob(scaled)
        result["log_prob"] = inside.numpy() - np.log((HIGH - LOW) / 2).sum()
    if name.startswith(("sac", "td3")):
        scaled = torch.as_tensor(model.policy.scale_action(actions))
        result["features"] = model.critic_target.q_networks[0][:-1](torch.cat([states, scaled], dim=1)).numpy()
    if name.startswith(("ppo", "a2c")):
        chosen = torch.as_tensor(np.arange(len(seen)) % 4 if "discrete" in name else actions)
        result["log_prob"] = model.policy.evaluate_actions(states, chosen)[1].numpy()
    if name == "dqn":
        result["values"] = model.q_net(states).numpy()
    return result


def parts_answers(model: Any) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    space = model.observation_space
    seen = [
        {"speed": rng.normal(size=2), "gear": int(rng.integers(3)), "at": rng.normal(size=(1, 2))} for _ in range(20)
    ]
    actions = [model.predict(one, deterministic=True)[0] for one in seen]
    return {
        "observations": np.stack([np.asarray(spaces.flatten(space, one)) for one in seen]),
        "action": np.stack(actions),
    }


def main(folder: Path) -> None:
    rng = np.random.default_rng(0)
    observations = (3 * rng.standard_normal((20, 3)) + [1, 2, 3]).astype(np.float32)
    actions = rng.uniform(0.9 * LOW + 0.1 * HIGH, 0.1 * LOW + 0.9 * HIGH, (20, 2)).astype(np.float32)
    expected: dict[str, Any] = {"observations": observations, "actions": actions}
    for name, model in make_models(folder).items():
        if name != "sac_sde":
            for what, array in answers(name, model, observations, actions).items():
                expected[f"{name}/{what}"] = array
    np.savez(folder / "expected.npz", **expected)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
