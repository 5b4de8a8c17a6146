"""A log and two policies as other people's tools write them, and what the policies truly earn.

    python make_files.py FOLDER

Trains SAC on Pendulum-v1 with Stable-Baselines3 and saves it early and late (early.zip, late.zip), records a log of
20,000 steps with Minari's DataCollector (the dataset pendulum/mixed-v0), and rolls both policies out for the truth
(truth.json), which the log alone does not hold. Ropeval is not used here, and is not needed.
"""

import json
import os
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np

EARLY, LATE = 1_500, 6_000  # steps of training
EPISODES = 100  # of 200 steps each
ROLLOUTS = 200
GAMMA = 0.95


def train(folder: Path):
    from stable_baselines3 import SAC

    if (folder / "late.zip").exists():  # begun before, and interrupted
        return SAC.load(folder / "early.zip"), SAC.load(folder / "late.zip")
    model = SAC("MlpPolicy", "Pendulum-v1", learning_rate=1e-3, seed=0, policy_kwargs={"net_arch": [64, 64]})
    model.learn(EARLY)
    model.save(folder / "early.zip")
    model.learn(LATE - EARLY, reset_num_timesteps=False)
    model.save(folder / "late.zip")
    return SAC.load(folder / "early.zip"), model


def record(early, late) -> None:
    """Whoever made the log: a third at random, a third the early policy, a third the late one, all of them noisy."""
    import minari

    rng = np.random.default_rng(0)
    env = minari.DataCollector(gym.make("Pendulum-v1"))
    for episode in range(EPISODES):
        observation, _ = env.reset(seed=episode)
        done = False
        while not done:
            action = rng.uniform(-2, 2, 1).astype(np.float32)
            if episode % 3:
                chosen, _ = (early, late)[episode % 3 - 1].predict(observation, deterministic=False)
                action = np.clip(chosen + 0.5 * rng.standard_normal(1), -2, 2).astype(np.float32)
            observation, _, terminated, truncated, _ = env.step(action)
            done = terminated or truncated
    env.create_dataset(
        dataset_id="pendulum/mixed-v0",
        algorithm_name="a third random, a third early SAC, a third late SAC, with noise",
        author="somebody else",
        description="Pendulum-v1, 100 episodes",
    )


def true_value(model, seeds: range) -> dict[str, float]:
    """Mean discounted return of the deterministic policy over these starts, and its standard error."""
    env = gym.make("Pendulum-v1")
    returns = []
    for seed in seeds:
        observation, _ = env.reset(seed=seed)
        total, discount, done = 0.0, 1.0, False
        while not done:
            action, _ = model.predict(observation, deterministic=True)
            observation, reward, terminated, truncated, _ = env.step(action)
            total, discount, done = total + discount * float(reward), discount * GAMMA, terminated or truncated
        returns.append(total)
    return {"value": float(np.mean(returns)), "standard_error": float(np.std(returns) / len(seeds) ** 0.5)}


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("MINARI_DATASETS_PATH", str(folder / "minari"))
    early, late = train(folder)
    record(early, late)
    truth = {"gamma": GAMMA}
    for name, model in {"early": early, "late": late}.items():
        truth[name] = {
            "any start": true_value(model, range(10_000, 10_000 + ROLLOUTS)),
            "the log's own starts": true_value(model, range(EPISODES)),
        }
    (folder / "truth.json").write_text(json.dumps(truth, indent=1) + "\n")
    print(json.dumps(truth, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
