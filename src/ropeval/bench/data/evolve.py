"""Train policies for small tasks by the cross-entropy method: NumPy and Gymnasium only, minutes on one core.

A small network's weights are drawn around a mean, each draw plays a few episodes, and mean and spread move to the best
draws. The mean of every generation is a policy; of these, `keep` are written whose values are spread evenly from the
weakest to the strongest: the line-up that an evaluation has to tell apart.
"""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropeval.bench.data.episodes import make_environment, space_of
from ropeval.bench.data.policy_files import body_of, sha256_of
from ropeval.bench.data.truth import standard_error
from ropeval.errors import UserError
from ropeval.files import write_atomically, write_text
from ropeval.policies.policy import Space

Floats = NDArray[np.float64]
Report = Callable[[int, dict[str, float]], None]  # generations done, the line just added to the curve

ELITE = 0.2  # of a population
HIDDEN = 16
MEASURED = 20  # episodes that tell what a generation's mean earns,
AGAIN = 15  # and so many times more for those that are kept
LOG_STD = np.log(0.3)  # of a continuous policy's own noise, before the tanh
RATE = 0.3  # how far mean and spread move at a time: slowly enough that there are policies of every strength
EXTRA = 0.15  # added to the spread at first, less and less: narrowing too early is this method's disease


@dataclass(frozen=True, eq=False)
class Network:
    """One hidden layer; a flat vector of weights is its state. Observations are standardised before they go in."""

    space: Space
    mean: Floats  # [S] of the observations of random play
    std: Floats  # [S]

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        inputs, outputs = self.space.observation_size, self.space.action_size
        return [(HIDDEN, inputs), (HIDDEN,), (outputs, HIDDEN), (outputs,)]

    @property
    def size(self) -> int:
        return sum(int(np.prod(shape)) for shape in self.shapes)

    def layers(self, weights: Floats) -> list[Floats]:
        """[P, size] → [P, out, in] and [P, out] of both layers."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes])
        parts = np.split(weights, ends[:-1], axis=1)
        return [part.reshape(len(weights), *shape) for part, shape in zip(parts, self.shapes, strict=True)]

    def arrays(self, weights: Floats) -> dict[str, NDArray[Any]]:
        """As `load_policy` reads it, standardisation folded into the first layer."""
        first, first_bias, last, last_bias = (part[0] for part in self.layers(weights[None]))
        folded = first / self.std
        arrays: dict[str, NDArray[Any]] = {"fc0_w": folded, "fc0_b": first_bias - folded @ self.mean}
        if self.space.discrete:
            arrays |= {"logits_w": last, "logits_b": last_bias}
        else:
            arrays |= {"mean_w": last, "mean_b": last_bias}
            arrays |= {"logstd_w": np.zeros_like(last), "logstd_b": np.full_like(last_bias, LOG_STD)}
            arrays |= {"action_low": np.asarray(self.space.low), "action_high": np.asarray(self.space.high)}
        return {name: array.astype(np.float32) for name, array in arrays.items()}

    def act(self, layers: list[Floats], observations: Floats, rng: np.random.Generator) -> NDArray[Any]:
        """Every member's action for its own observation, [P, S] → [P] or [P, A]: drawn as the policy draws it."""
        first, first_bias, last, last_bias = layers
        scaled = (observations - self.mean) / self.std
        hidden = np.maximum(np.einsum("pij,pj->pi", first, scaled) + first_bias, 0.0)
        out = np.einsum("pij,pj->pi", last, hidden) + last_bias
        if self.space.discrete:
            return (out + rng.gumbel(size=out.shape)).argmax(axis=1)
        low, high = np.asarray(self.space.low), np.asarray(self.space.high)
        squashed = np.tanh(out + np.exp(LOG_STD) * rng.standard_normal(out.shape))
        return np.asarray(low + (squashed + 1) / 2 * (high - low))


def evolve(
    env_id: str,
    out: Path,
    generations: int = 60,
    episodes: int = 2,
    population: int = 40,
    seed: int = 0,
    keep: int = 6,
    gamma: float = 0.99,
    report: Report | None = None,
) -> Path:
    """Train on `env_id`; returns the folder with `keep` policies and the curve. Same seed, same policies."""
    if keep > generations:
        raise UserError(f"{keep} policies are to be kept, but there are only {generations} generations")
    rng = np.random.default_rng(seed)
    envs = [make_environment(env_id)[0] for _ in range(max(population, MEASURED))]
    space = space_of(envs[0], env_id)
    network = Network(space, *_random_play(envs[0], rng))
    mean, std = np.zeros(network.size), np.ones(network.size)
    curve: list[dict[str, float]] = []
    means: list[Floats] = []
    for generation in range(generations):
        means.append(mean)
        curve.append({"generation": generation, **measure(network, mean, envs, rng, 1, gamma)})
        if report:
            report(generation + 1, curve[-1])
        drawn = mean + std * rng.standard_normal((population, network.size))  # [P, size]
        starts = np.repeat(rng.integers(2**31, size=(episodes, 1)), population, 1)  # all begin alike, for fairness
        _, earned = play(network, drawn, envs, rng, starts, gamma)
        if earned.max() == earned.min():  # nobody got anywhere: nothing to learn, draw again
            continue
        best = drawn[np.argsort(-earned, kind="stable")[: math.ceil(ELITE * population)]]
        extra = EXTRA * max(0.0, 1 - 2 * generation / generations)
        mean = mean + RATE * (best.mean(axis=0) - mean)
        std = std + RATE * (np.hypot(best.std(axis=0), extra) - std)
    chosen = evenly_spread([line["discounted"] for line in curve], keep)
    line_up = [(measure(network, means[place], envs, rng, AGAIN, gamma), place) for place in chosen]
    for env in envs:
        env.close()
    about = {
        "environment": env_id, "algorithm": "cross-entropy method", "seed": seed, "gamma": gamma,
        "generations": generations, "population": population, "elite": ELITE, "episodes": episodes,
        "versions": {name: version(name) for name in ("gymnasium", "numpy")},
    }  # fmt: skip
    write_text(out / "curve.jsonl", "".join(json.dumps(line) + "\n" for line in curve))
    for number, (value, place) in enumerate(sorted(line_up, key=lambda entry: entry[0]["discounted"]), 1):
        measured = {"generation": place, **value, "measured_episodes": AGAIN * MEASURED}
        _write(out / f"{body_of(env_id).lower()}_{number}", network.arrays(means[place]), about | measured)
    return out


def measure(
    network: Network, weights: Floats, envs: list[Any], rng: np.random.Generator, rounds: int, gamma: float
) -> dict[str, float]:
    """What one policy earns, over `rounds` times MEASURED episodes."""
    same = np.repeat(weights[None], MEASURED, 0)
    played = [play(network, same, envs, rng, rng.integers(2**31, size=(1, MEASURED)), gamma) for _ in range(rounds)]
    returns, discounted = (np.concatenate(values) for values in zip(*played, strict=True))
    return {
        "return": float(returns.mean()),
        "return_se": standard_error(returns),
        "discounted": float(discounted.mean()),
        "discounted_se": standard_error(discounted),
    }


def play(
    network: Network,
    weights: Floats,
    envs: list[Any],
    rng: np.random.Generator,
    starts: NDArray[np.int64],
    gamma: float,
) -> tuple[Floats, Floats]:
    """Mean return and mean discounted return of every member, [P] each, over episodes seeded by `starts` [E, P].
    All play in step."""
    members = len(weights)
    layers = network.layers(weights)
    returns, discounted = np.zeros(members), np.zeros(members)
    for seeds in starts:
        first = [env.reset(seed=int(number))[0] for env, number in zip(envs, seeds, strict=False)]
        observations = np.array(first, np.float64)  # [P, S]
        playing = np.ones(members, bool)
        weight = 1.0
        while playing.any():
            actions = network.act(layers, observations, rng)
            for member in np.flatnonzero(playing):
                action = int(actions[member]) if network.space.discrete else actions[member].astype(np.float32)
                seen, reward, terminated, truncated, _ = envs[member].step(action)
                observations[member] = seen
                returns[member] += float(reward)
                discounted[member] += weight * float(reward)
                playing[member] = not (terminated or truncated)
            weight *= gamma
    return returns / len(starts), discounted / len(starts)


def evenly_spread(values: list[float], count: int) -> list[int]:
    """Places of `count` values, from the lowest to the highest and as evenly spaced as there are, in that order."""
    targets = np.linspace(min(values), max(values), count)
    chosen: list[int] = []
    for target in targets:
        free = [place for place in range(len(values)) if place not in chosen]
        chosen.append(min(free, key=lambda place: abs(values[place] - target)))
    return sorted(chosen, key=lambda place: values[place])


def _random_play(env: Any, rng: np.random.Generator, episodes: int = 5) -> tuple[Floats, Floats]:
    """Mean and standard deviation of what is seen when actions are random, [S] each."""
    env.action_space.seed(int(rng.integers(2**31)))
    seen = []
    for _ in range(episodes):
        observation, _ = env.reset(seed=int(rng.integers(2**31)))
        over = False
        while not over:
            seen.append(observation)
            observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
            over = terminated or truncated
    return np.mean(seen, axis=0, dtype=np.float64), np.std(seen, axis=0, dtype=np.float64) + 1e-6


def _write(stem: Path, arrays: dict[str, NDArray[Any]], about: dict[str, Any]) -> None:
    path = stem.with_suffix(".npz")
    write_atomically(path, lambda temporary: np.savez_compressed(temporary, **arrays))  # type: ignore[arg-type]
    write_text(stem.with_suffix(".json"), json.dumps({"sha256": sha256_of(path), **about}, indent=1) + "\n")
