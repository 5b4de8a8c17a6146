"""Train a policy to evaluate: SAC by Stable-Baselines3 (the `train` extra), its learning curve kept as it goes.

Every `every` steps the actor and the target critic are written as a float16 `.npz` that `load_policy` reads, a few
episodes are played, and one line is added to `curve.jsonl`. The trainer's own state is kept too, so that a run that
was killed goes on from its last checkpoint.
"""

import json
import shutil
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropeval.errors import UserError
from ropeval.files import write_atomically, write_text

GAMMA = 0.99  # Stable-Baselines3's default, which also discounts the curve
EVALUATION_SEED = 1_000_000  # far from the training environment's

Report = Callable[[int, dict[str, float]], None]  # steps done, the line just added to the curve


def train(
    env_id: str,
    out: Path,
    steps: int = 1_000_000,
    every: int = 10_000,
    episodes: int = 5,
    seed: int = 0,
    batch_size: int = 256,
    threads: int | None = None,
    report: Report | None = None,
) -> Path:
    """Train SAC with Stable-Baselines3's defaults on `env_id`; returns the folder with checkpoints and curve."""
    _require_extra()
    import torch

    if threads is not None:
        torch.set_num_threads(threads)
    out.mkdir(parents=True, exist_ok=True)
    model = _resume(out, env_id) or _start(env_id, seed)
    model.batch_size = batch_size
    _record_run(out / "training.json", env_id, model, seed)
    started, earlier = time.monotonic(), read_curve(out / "curve.jsonl")
    before = earlier[-1]["seconds"] if earlier else 0.0
    while model.num_timesteps < steps:
        chunk = min(every - model.num_timesteps % every, steps - model.num_timesteps)
        model.learn(chunk, reset_num_timesteps=False)
        done = int(model.num_timesteps)
        write_policy(out / f"{env_id}_sac_{done}.npz", model)
        line = {"steps": done, **play(model, env_id, episodes), "seconds": before + time.monotonic() - started}
        _save_state(model, out)
        _extend_curve(out / "curve.jsonl", line)
        if report:
            report(done, line)
    return out


def write_policy(path: Path, model: Any) -> None:
    """Actor and target critic of a SAC model, float16, in the layout that `load_policy` reads."""
    arrays = {}
    for part in ("actor", "critic_target"):
        for name, tensor in getattr(model, part).state_dict().items():
            array = tensor.cpu().numpy().astype(np.float16)
            if not np.isfinite(array).all():
                raise UserError(f"{path}: {part}.{name} does not fit float16; the training has diverged")
            arrays[f"{part}/{name.replace('.', '/')}"] = array
    arrays["action_low"] = model.action_space.low.astype(np.float32)
    arrays["action_high"] = model.action_space.high.astype(np.float32)
    write_atomically(path, lambda temporary: np.savez_compressed(temporary, **arrays))


def play(model: Any, env_id: str, episodes: int) -> dict[str, float]:
    """What the stochastic policy earns now, over `episodes` episodes of a fresh environment."""
    env = _environment(env_id)
    returns, discounted, lengths = [], [], []
    for episode in range(episodes):
        observation, _ = env.reset(seed=EVALUATION_SEED + episode)
        rewards: list[float] = []
        over = False
        while not over:
            action, _ = model.predict(observation, deterministic=False)
            observation, reward, terminated, truncated, _ = env.step(action)
            rewards.append(float(reward))
            over = terminated or truncated
        returns.append(sum(rewards))
        discounted.append(float(np.array(rewards) @ GAMMA ** np.arange(len(rewards))))
        lengths.append(len(rewards))
    env.close()
    return {
        "return": float(np.mean(returns)),
        "return_se": _standard_error(returns),
        "discounted": float(np.mean(discounted)),
        "discounted_se": _standard_error(discounted),
        "length": float(np.mean(lengths)),
    }


def read_curve(path: Path) -> list[dict[str, float]]:
    """The lines of `curve.jsonl`; a last line cut short by a crash is left out."""
    lines = []
    for text in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            lines.append(json.loads(text))
        except json.JSONDecodeError:
            break
    return lines


def _start(env_id: str, seed: int) -> Any:
    from stable_baselines3 import SAC

    fused = {"optimizer_kwargs": {"fused": True}}  # the same Adam, in one call instead of many small ones
    return SAC("MlpPolicy", _environment(env_id), gamma=GAMMA, seed=seed, device="cpu", policy_kwargs=fused)


def _environment(env_id: str) -> Any:
    import gymnasium

    try:
        env = gymnasium.make(env_id)
    except gymnasium.error.Error as error:
        raise UserError(f"environment {env_id}: Gymnasium cannot make it ({error})") from error
    return gymnasium.wrappers.DtypeObservation(env, np.float32)


def _save_state(model: Any, out: Path) -> None:
    """Networks, optimisers and replay memory, exchanged as one folder: the state is the old one or the new one."""
    fresh, kept = out / "state.new", out / "state"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    model.save(fresh / "model.zip")
    memory = model.replay_buffer
    filled = memory.buffer_size if memory.full else memory.pos
    np.savez(fresh / "memory.npz", full=memory.full, pos=memory.pos, **{
        name: getattr(memory, name)[:filled] for name in MEMORY
    })  # fmt: skip
    shutil.rmtree(kept, ignore_errors=True)
    fresh.rename(kept)


MEMORY = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")


def _resume(out: Path, env_id: str) -> Any:
    """The model as last saved, or None. If the process died between the two renames, the new state is whole."""
    state = next((s for s in (out / "state", out / "state.new") if (s / "memory.npz").exists()), None)
    if state is None:
        return None
    from stable_baselines3 import SAC

    model: Any = SAC.load(state / "model.zip", env=_environment(env_id), device="cpu")
    with np.load(state / "memory.npz", allow_pickle=False) as saved:
        memory = model.replay_buffer
        memory.full, memory.pos = bool(saved["full"]), int(saved["pos"])
        for name in MEMORY:
            array: NDArray[Any] = saved[name]
            getattr(memory, name)[: len(array)] = array
    return model


def _extend_curve(path: Path, line: dict[str, float]) -> None:
    known = [old for old in read_curve(path) if old["steps"] < line["steps"]]
    write_text(path, "".join(json.dumps(entry) + "\n" for entry in [*known, line]))


def _record_run(path: Path, env_id: str, model: Any, seed: int) -> None:
    """What decides the result: the settings and versions of every run that went on with this training."""
    runs = json.loads(path.read_text(encoding="utf-8"))["runs"] if path.exists() else []
    run = {
        "from_steps": int(model.num_timesteps),
        "batch_size": model.batch_size,
        "learning_rate": model.learning_rate,
        "network": list(model.policy.net_arch),
        "versions": {name: version(name) for name in ("stable-baselines3", "torch", "gymnasium", "mujoco", "numpy")},
    }
    about = {"environment": env_id, "algorithm": "SAC", "gamma": GAMMA, "seed": seed, "runs": [*runs, run]}
    write_text(path, json.dumps(about, indent=1) + "\n")


def _standard_error(values: list[float]) -> float:
    return float(np.std(values, ddof=1) / len(values) ** 0.5) if len(values) > 1 else float("nan")


def _require_extra() -> None:
    try:
        import gymnasium  # noqa: F401
        import stable_baselines3  # noqa: F401
    except ImportError as error:
        raise UserError(
            f"training needs Stable-Baselines3 and MuJoCo ({error.name} is missing): pip install 'ropeval[train]'"
        ) from error
