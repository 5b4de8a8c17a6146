"""Make everything the embedded demo needs: candidate policies, a log by other policies, and the true values.

    python scripts/make_demo.py [--seed 0] [--out src/ropeval/demo]

The task is Gymnasium's Pendulum-v1. Every policy starts as one energy-shaping controller with its own
settings. The candidates are networks cloned from it, since a user's policies are networks. The log is written
by noisier controllers with other settings, so that no candidate is judged on its own data. The same seed on
the same machine gives the same bytes.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import optax

ENVIRONMENT = "Pendulum-v1"
GAMMA = 0.99
LOG_STEPS = 200  # Pendulum-v1's time limit
TRUTH_STEPS = 1_500  # 0.99^1500 < 1e-6: what lies beyond is far below the standard error
TRUTH_EPISODES = 20_000
MAX_TORQUE = 2.0
HIDDEN = 32
CLONING_STEPS = 6_000
CLONING_BATCH = 1_024
POLICY_STD = 0.3  # of the candidates' pre-tanh Gaussian
# Controllers saturate; a tanh cannot. Stopping short of the limit keeps every log-density finite.
SATURATION = 0.96

Array = np.ndarray
Params = dict[str, Any]
Act = Callable[[Array, np.random.Generator], tuple[Array, Array]]  # [n, 3] -> actions [n, 1], log-densities [n]


# The task ---------------------------------------------------------------------------------------------------


def reset(episodes: int, rng: np.random.Generator) -> Array:
    """States (θ, θ̇) [n, 2] as Pendulum-v1 resets them; θ = 0 is upright."""
    return rng.uniform([-np.pi, -1.0], [np.pi, 1.0], size=(episodes, 2))


def observe(state: Array) -> Array:
    theta, speed = state.T
    return np.stack([np.cos(theta), np.sin(theta), speed], axis=1).astype(np.float32)


def step(state: Array, action: Array) -> tuple[Array, Array]:
    """Pendulum-v1 (g=10, m=l=1, dt=0.05) for many pendulums at once: next states [n, 2], rewards [n]."""
    theta, speed = state.T
    torque = np.clip(action[:, 0], -MAX_TORQUE, MAX_TORQUE)  # stays float32, as in Gymnasium
    angle = (theta + np.pi) % (2 * np.pi) - np.pi
    reward = -(angle**2 + 0.1 * speed**2 + 0.001 * torque**2)
    next_speed = np.clip(speed + (15.0 * np.sin(theta) + 3.0 * torque) * 0.05, -8.0, 8.0)
    return np.stack([theta + 0.05 * next_speed, next_speed], axis=1), reward


def check_against_gymnasium(rng: np.random.Generator, cases: int = 1_000) -> None:
    """The vectorised task is the task: same successor, reward and observation as Gymnasium's own step."""
    env: Any = gymnasium.make(ENVIRONMENT).unwrapped  # whose state can be set
    env.reset(seed=0)
    states = rng.uniform([-10.0, -8.0], [10.0, 8.0], size=(cases, 2))
    actions = rng.uniform(-2.5, 2.5, size=(cases, 1)).astype(np.float32)  # also beyond the limits: clipped
    next_states, rewards = step(states, actions)
    for state, action, next_state, reward in zip(states, actions, next_states, rewards, strict=True):
        env.state = state
        observation, env_reward, terminated, _, _ = env.step(action)
        assert not terminated
        np.testing.assert_allclose(next_state, env.state, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(reward, env_reward, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(observe(next_state[None])[0], observation, rtol=1e-6, atol=1e-6)


class Step(NamedTuple):
    observations: Array  # [n, 3]
    actions: Array  # [n, 1]
    log_probs: Array  # [n]
    rewards: Array  # [n]
    next_observations: Array  # [n, 3]


def rollout(act: Act, state: Array, steps: int, rng: np.random.Generator) -> Iterator[Step]:
    observation = observe(state)
    for _ in range(steps):
        action, log_prob = act(observation, rng)
        state, reward = step(state, action)
        next_observation = observe(state)
        yield Step(observation, action, log_prob, reward, next_observation)
        observation = next_observation


# Policies ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Controller:
    """Pump the energy ½θ̇² + 15·cos θ towards a target; near upright, optionally catch with a PD law.

    Upright at rest has energy 15, hanging at rest −15: the target alone makes it swing up, damp or spin.
    """

    target_energy: float
    energy_gain: float
    max_torque: float = MAX_TORQUE
    catch: tuple[float, float] | None = None  # PD gains (θ, θ̇)

    def __call__(self, observation: Array) -> Array:
        """Mean of the pre-tanh Gaussian [n]."""
        cos, sin, speed = observation.T
        energy = 0.5 * speed**2 + 15.0 * cos
        torque = self.energy_gain * (self.target_energy - energy) * speed  # dE/dt = 3·torque·θ̇
        if self.catch is not None:
            theta = np.arctan2(sin, cos)
            near = (np.abs(theta) < 0.5) & (np.abs(theta + 0.25 * speed) < 0.4)
            torque = np.where(near, -self.catch[0] * theta - self.catch[1] * speed, torque)
        fraction = np.clip(torque, -self.max_torque, self.max_torque) / MAX_TORQUE
        return np.arctanh(np.clip(fraction, -SATURATION, SATURATION)).astype(np.float32)


# What is evaluated: of clearly different value, for reasons one can see in the pendulum's motion.
CANDIDATES = {
    "swingup": Controller(target_energy=15.0, energy_gain=1.0, catch=(10.0, 2.0)),
    "cautious": Controller(target_energy=15.0, energy_gain=0.3, max_torque=0.8, catch=(8.0, 2.0)),
    "spinner": Controller(target_energy=19.0, energy_gain=0.3),
    "lazy": Controller(target_energy=-15.0, energy_gain=0.05),
}


@dataclass(frozen=True)
class Behaviour:
    episodes: int
    std: float  # of the pre-tanh Gaussian
    controller: Controller | None  # None: uniform over the action range


# Who wrote the log: other gains, far more noise, and random torques for the actions nobody would choose.
BEHAVIOURS = {
    "noisy swing-up": Behaviour(30, 0.6, Controller(target_energy=16.0, energy_gain=0.6, catch=(8.0, 1.5))),
    "weak swing-up": Behaviour(20, 0.5, Controller(target_energy=14.0, energy_gain=0.2, max_torque=1.2)),
    "fast spinner": Behaviour(15, 0.6, Controller(target_energy=23.0, energy_gain=0.2)),
    "noisy damping": Behaviour(15, 0.5, Controller(target_energy=-15.0, energy_gain=0.02)),
    "uniform random": Behaviour(20, 0.0, None),
}


def act_tanh_gaussian(
    mean_of: Callable[[Array], Array], std: float, observation: Array, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Action = 2·tanh(u), u ~ N(mean, std²), with its log-density taken at u, where it stays exact."""
    noise = rng.standard_normal(len(observation), dtype=np.float32)
    u = mean_of(observation) + np.float32(std) * noise
    log_slope = 2.0 * (np.log(2.0) - u - np.logaddexp(0.0, -2.0 * u))  # log(1 − tanh²u)
    log_prob = -0.5 * noise**2 - np.log(std * np.sqrt(2 * np.pi)) - log_slope - np.log(MAX_TORQUE)
    return (MAX_TORQUE * np.tanh(u))[:, None].astype(np.float32), log_prob


def act_uniform(observation: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    actions = rng.uniform(-MAX_TORQUE, MAX_TORQUE, size=(len(observation), 1)).astype(np.float32)
    return actions, np.full(len(observation), -np.log(2 * MAX_TORQUE))


def network_mean(params: Params, observation: Any, xp: Any = np) -> Any:
    """Mean of the pre-tanh Gaussian [n]; the same lines train in JAX and act in NumPy."""
    hidden = xp.maximum(observation @ params["fc0_w"].T + params["fc0_b"], 0.0)
    hidden = xp.maximum(hidden @ params["fc1_w"].T + params["fc1_b"], 0.0)
    return (hidden @ params["mean_w"].T + params["mean_b"])[:, 0]


# Behaviour cloning ------------------------------------------------------------------------------------------


def cloning_observations(controller: Controller, rng: np.random.Generator) -> Array:
    """Where to imitate [n, 3]: half anywhere, half where the controller goes (the catch is small)."""
    anywhere = observe(rng.uniform([-np.pi, -8.0], [np.pi, 8.0], size=(50_000, 2)))
    act = partial(act_tanh_gaussian, controller, POLICY_STD)
    visited = [s.observations for s in rollout(act, reset(250, rng), LOG_STEPS, rng)]
    return np.concatenate([anywhere, *visited])


def init_network(rng: np.random.Generator) -> Params:
    sizes = {"fc0": (HIDDEN, 3), "fc1": (HIDDEN, HIDDEN), "mean": (1, HIDDEN)}
    params: Params = {}
    for name, (fan_out, fan_in) in sizes.items():
        params[f"{name}_w"] = rng.normal(0.0, np.sqrt(2.0 / fan_in), (fan_out, fan_in)).astype(np.float32)
        params[f"{name}_b"] = np.zeros(fan_out, np.float32)
    return params


def clone(controller: Controller, rng: np.random.Generator) -> Params:
    """A candidate's file: the network whose mean action imitates the controller, with a constant log-std."""
    observations = cloning_observations(controller, rng)
    targets = np.tanh(controller(observations))
    batches = rng.integers(len(observations), size=(CLONING_STEPS, CLONING_BATCH))
    optimizer = optax.adam(optax.cosine_decay_schedule(3e-3, CLONING_STEPS))

    def loss(params: Params, observation: jax.Array, target: jax.Array) -> jax.Array:
        return jnp.mean((jnp.tanh(network_mean(params, observation, jnp)) - target) ** 2)

    @jax.jit
    def train(params: Params, observations: jax.Array, targets: jax.Array, batches: jax.Array) -> Params:
        def update(carry: Any, batch: jax.Array) -> tuple[Any, None]:
            params, state = carry
            grads = jax.grad(loss)(params, observations[batch], targets[batch])
            updates, state = optimizer.update(grads, state)
            return (optax.apply_updates(params, updates), state), None

        return jax.lax.scan(update, (params, optimizer.init(params)), batches)[0][0]

    params = train(init_network(rng), observations, targets, batches)
    return {
        **{name: np.asarray(value) for name, value in params.items()},
        "logstd_w": np.zeros((1, HIDDEN), np.float32),
        "logstd_b": np.full(1, np.log(POLICY_STD), np.float32),
        "action_low": np.full(1, -MAX_TORQUE, np.float32),
        "action_high": np.full(1, MAX_TORQUE, np.float32),
    }


# The log and the truth --------------------------------------------------------------------------------------


def write_episodes(behaviour: Behaviour, rng: np.random.Generator) -> dict[str, Array]:
    """One behaviour's episodes, each column as [episodes, steps, ...]."""
    if behaviour.controller is None:
        act: Act = act_uniform
    else:
        act = partial(act_tanh_gaussian, behaviour.controller, behaviour.std)
    steps = list(rollout(act, reset(behaviour.episodes, rng), LOG_STEPS, rng))
    columns = {name: np.stack([getattr(s, name) for s in steps], axis=1) for name in Step._fields}
    return {name: column.astype(np.float32) for name, column in columns.items()}


def make_log(rng: np.random.Generator) -> dict[str, Any]:
    """All behaviours' episodes in random order, flat, with Minari's names."""
    parts = [write_episodes(behaviour, rng) for behaviour in BEHAVIOURS.values()]
    order = rng.permutation(sum(behaviour.episodes for behaviour in BEHAVIOURS.values()))
    log: dict[str, Array] = {}
    for name in Step._fields:
        column = np.concatenate([part[name] for part in parts])[order]  # [episodes, steps, ...]
        log[name] = column.reshape(-1, *column.shape[2:])
    log["terminations"] = np.zeros(len(log["rewards"]), bool)  # the pendulum never ends ...
    log["truncations"] = np.arange(1, len(log["rewards"]) + 1) % LOG_STEPS == 0  # ... only the recording does
    assert all(np.isfinite(column).all() for column in log.values())
    assert np.abs(log["actions"]).max() < MAX_TORQUE
    return log


def true_value(params: dict[str, Array], rng: np.random.Generator) -> dict[str, float | int]:
    """Both definitions of a policy's value, from the same rollouts of its stochastic actions."""
    act = partial(act_tanh_gaussian, partial(network_mean, params), float(np.exp(params["logstd_b"][0])))
    returns = np.zeros(TRUTH_EPISODES)
    reward_sums = np.zeros(TRUTH_EPISODES)
    for t, s in enumerate(rollout(act, reset(TRUTH_EPISODES, rng), TRUTH_STEPS, rng)):
        returns += GAMMA**t * s.rewards
        if t < LOG_STEPS:
            reward_sums += s.rewards
    scaled = reward_sums / LOG_STEPS / (1 - GAMMA)
    return {
        "value": round(float(returns.mean()), 4),
        "standard_error": round(standard_error(returns), 4),
        "mean_reward_over_1mg": round(float(scaled.mean()), 4),
        "mean_reward_over_1mg_standard_error": round(standard_error(scaled), 4),
        "episodes": TRUTH_EPISODES,
    }


def standard_error(samples: Array) -> float:
    return float(samples.std(ddof=1) / np.sqrt(len(samples)))


def make_truth(policies: dict[str, dict[str, Array]], seed: int) -> dict[str, Any]:
    truths = {name: true_value(params, generator(seed, "truth", name)) for name, params in policies.items()}
    values = sorted(truth["value"] for truth in truths.values())
    worst = max(truth["standard_error"] for truth in truths.values())
    assert worst < 0.01 * np.diff(values).min(), f"standard error {worst} is too large for the values {values}"
    return {
        "environment": ENVIRONMENT,
        "gymnasium_version": gymnasium.__version__,
        "gamma": GAMMA,
        "action_mode": "stochastic",
        "value_steps": TRUTH_STEPS,
        "mean_reward_steps": LOG_STEPS,
        "seed": seed,
        "command": f"python scripts/make_demo.py --seed {seed}",
        "policies": truths,
    }


# The command ------------------------------------------------------------------------------------------------


def generator(seed: int, *names: str) -> np.random.Generator:
    """A stream of its own for every use, so that changing one part leaves the others' bytes alone."""
    return np.random.default_rng([seed, *"/".join(names).encode()])


def print_summary(truth: dict[str, Any], log: dict[str, Array], out: Path) -> None:
    print(f"{'candidate':<16}{'value':>10}{'± se':>8}{'mean r/(1−γ)':>16}{'± se':>8}")
    for name, row in truth["policies"].items():
        scaled, scaled_se = row["mean_reward_over_1mg"], row["mean_reward_over_1mg_standard_error"]
        print(f"{name:<16}{row['value']:>10.2f}{row['standard_error']:>8.2f}{scaled:>16.2f}{scaled_se:>8.2f}")
    print(f"\nlog: {len(log['rewards']):,} transitions, mean r/(1−γ) {log['rewards'].mean() / (1 - GAMMA):.2f}")
    for name, behaviour in BEHAVIOURS.items():
        print(f"  {behaviour.episodes:>3} episodes  {name}")
    print()
    for path in [*sorted(out.rglob("*.npz")), out / "truth.json"]:
        print(f"{path.stat().st_size:>10,} bytes  {path.relative_to(out)}")


def make_demo(out: Path, seed: int) -> None:
    check_against_gymnasium(generator(seed, "check"))
    policies = {name: clone(controller, generator(seed, "clone", name)) for name, controller in CANDIDATES.items()}
    log = make_log(generator(seed, "log"))
    truth = make_truth(policies, seed)

    (out / "policies").mkdir(parents=True, exist_ok=True)
    for name, params in policies.items():
        np.savez(out / "policies" / f"{name}.npz", **params)
    np.savez_compressed(out / "log.npz", **log)
    (out / "truth.json").write_text(json.dumps(truth, indent=2) + "\n", encoding="utf-8")
    print_summary(truth, log, out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "src/ropeval/demo")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    jax.config.update("jax_platforms", "cpu")  # the same bytes whether or not there is an accelerator
    started = time.perf_counter()
    make_demo(arguments.out, arguments.seed)
    print(f"\nmade in {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
