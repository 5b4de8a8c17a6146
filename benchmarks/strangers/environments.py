"""Five tasks of Gymnasium, with policies that are a formula.

    lander, thrust    the moon lander by discrete and by continuous actions, flown by hand-written rules (Box2D)
    reacher           an arm pulled to its goal; gains from soft to far too hard
    pendulum          two poles on a cart that nobody balances for long
    swimmer           three links, by linear policies found on the way by trial

The linear policies are found anew each time, from a seed: the best of random ones around the best so far.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from benchmarks.strangers.task import Act, Floats, Task
from numpy.typing import NDArray

Generator = np.random.Generator
Noisy = Callable[[Floats, Generator], NDArray[Any]]  # of one observation


class Given(NamedTuple):
    env: str
    gamma: float
    horizon: int | None
    episodes: int  # of the log
    lives: int  # for a true value
    policies: Callable[[], Mapping[str, Act]]
    behaviours: Callable[[Mapping[str, Act]], Sequence[Noisy]]  # they take turns, an episode each


def make(given: Given, seed: int) -> Task:
    env, rng, policies = gym.make(given.env), np.random.default_rng(seed), given.policies()
    behaviours = given.behaviours(policies)
    rows: list[tuple[Any, ...]] = []
    for episode in range(given.episodes):
        _live(env, behaviours[episode % len(behaviours)], 1.0, rng, rows)
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    names = ("observations", "actions", "rewards", "terminations", "truncations", "next_observations")
    truth = {
        name: float(np.mean([_live(env, _exactly(act), given.gamma, rng) for _ in range(given.lives)]))
        for name, act in policies.items()
    }
    return Task(given.gamma, given.horizon, policies, dict(zip(names, columns, strict=True)), truth)


def _live(
    env: gym.Env[Any, Any], act: Noisy, gamma: float, rng: Generator, rows: list[tuple[Any, ...]] | None = None
) -> float:
    """One episode's discounted return."""
    state, total, weight, over = env.reset(seed=int(rng.integers(2**31)))[0], 0.0, 1.0, False
    while not over:
        action = act(state.astype(np.float32), rng)
        after, reward, ended, cut, _ = env.step(int(action) if action.ndim == 0 else action)
        if rows is not None:
            rows.append((state.astype(np.float32), action, reward, ended, cut and not ended, after.astype(np.float32)))
        state, total, weight, over = after, total + weight * float(reward), weight * gamma, ended or cut
    return total


def _exactly(act: Act) -> Noisy:
    return lambda state, rng: np.asarray(act(state[None])[0])


def _shaken(act: Act, by: float) -> Noisy:
    def shaken(state: Floats, rng: Generator) -> NDArray[Any]:
        action = act(state[None])[0]
        return np.clip(action + rng.normal(0, by, len(action)), -1, 1).astype(np.float32)

    return shaken


def _now_and_then(act: Act, share: float, choices: int) -> Noisy:
    def mixed(state: Floats, rng: Generator) -> NDArray[Any]:
        return np.asarray(rng.integers(choices) if rng.random() < share else act(state[None])[0])

    return mixed


# --- the lander -----------------------------------------------------------------------------------------------


def _wanted(o: Floats, lean: float, brake: float) -> tuple[Floats, Floats]:
    """How far to turn and to rise: upright above the pad, sinking slowly; on its legs, only not to bounce."""
    x, y, dx, dy, angle, turning, left, right = o.T
    turn = 0.5 * (np.clip(lean * x + dx, -0.4, 0.4) - angle) - turning
    rise = 0.5 * (0.55 * abs(x) - y) - brake * dy
    landed = (left > 0.5) | (right > 0.5)
    return np.where(landed, 0.0, turn), np.where(landed, -0.5 * dy, rise)


def _engine(o: Floats, lean: float = 0.5, brake: float = 0.5) -> NDArray[Any]:
    turn, rise = _wanted(o, lean, brake)
    side = np.where(turn < -0.05, 3, np.where(turn > 0.05, 1, 0))
    return np.where((rise > abs(turn)) & (rise > 0.05), 2, side)


def _thrust(o: Floats, lean: float = 0.5, brake: float = 0.5) -> NDArray[Any]:
    turn, rise = _wanted(o, lean, brake)
    return np.clip(np.stack([20 * rise - 1, -20 * turn], axis=1), -1, 1).astype(np.float32)


def _landers() -> Mapping[str, Act]:
    return {
        "usual": _engine,
        "slow": partial(_engine, brake=0.8),
        "fast": partial(_engine, brake=0.3),
        "never sideways": lambda o: np.where(np.isin(_engine(o), (1, 3)), 0, _engine(o)),
        "fall first": lambda o: np.where(o[:, 1] > 0.4, 0, _engine(o)),
    }


def _thrusts() -> Mapping[str, Act]:
    return {
        "usual": _thrust,
        "slow": partial(_thrust, brake=0.8),
        "weak": lambda o: 0.7 * _thrust(o),
        "leaning": partial(_thrust, lean=0.9),
    }


# --- the arm --------------------------------------------------------------------------------------------------


def _pulled(o: Floats, pull: float, drag: float) -> NDArray[Any]:
    """As if a spring pulled the tip to its goal, through the arm's Jacobian."""
    cos1, cos2, sin1, sin2 = o[:, :4].T
    cos12, sin12 = cos1 * cos2 - sin1 * sin2, sin1 * cos2 + cos1 * sin2
    fx, fy = -10 * pull * o[:, 8:10].T
    first = (-0.1 * sin1 - 0.11 * sin12) * fx + (0.1 * cos1 + 0.11 * cos12) * fy
    second = 0.11 * (-sin12 * fx + cos12 * fy)
    return np.clip(np.stack([first, second], axis=1) - 0.05 * drag * o[:, 6:8], -1, 1).astype(np.float32)


def _arms() -> Mapping[str, Act]:
    return {
        "firm": partial(_pulled, pull=8.0, drag=1.0),
        "soft": partial(_pulled, pull=3.0, drag=1.0),
        "hard": partial(_pulled, pull=20.0, drag=0.5),
        "turning": lambda o: np.tile(np.array([0.2, 0.0], np.float32), (len(o), 1)),
    }


# --- linear policies ------------------------------------------------------------------------------------------


def _linear(weights: Floats, o: Floats) -> NDArray[Any]:
    return np.clip(o @ weights.T, -1, 1).astype(np.float32)


@cache
def _found(name: str, kept: tuple[int, ...]) -> Mapping[str, Act]:
    """The means after so many rounds of the cross-entropy method, 24 tries a round, the best six of them kept."""
    env, rng = gym.make(name), np.random.default_rng(0)
    assert isinstance(env.observation_space, gym.spaces.Box)
    assert isinstance(env.action_space, gym.spaces.Box)
    shape = (env.action_space.shape[0], env.observation_space.shape[0])
    mean, deviation, found = np.zeros(shape), np.ones(shape), {}
    for round_ in range(max(kept) + 1):
        tries = mean + deviation * rng.normal(size=(24, *shape))
        earned = [_live(env, _exactly(partial(_linear, one)), 1.0, rng) for one in tries]
        best = tries[np.argsort(earned)[-6:]]
        mean, deviation = best.mean(axis=0), best.std(axis=0) + 0.3 * 0.85**round_
        if round_ in kept:
            found[f"round {round_}"] = partial(_linear, mean)
    return found


ENVIRONMENTS = {
    "lander": Given(
        "LunarLander-v3", 0.99, None, 100, 200, _landers,
        lambda by: [_now_and_then(by["usual"], 0.3, 4), _now_and_then(by["slow"], 0.5, 4)],
    ),
    "thrust": Given(
        "LunarLanderContinuous-v3", 0.99, None, 100, 200, _thrusts, lambda by: [_shaken(by["usual"], 0.5)]
    ),
    "reacher": Given(
        "Reacher-v5", 0.98, 50, 400, 400, _arms, lambda by: [_shaken(by["soft"], 0.3), _shaken(by["firm"], 0.5)]
    ),
    "pendulum": Given(
        "InvertedDoublePendulum-v5", 0.99, None, 800, 300, partial(_found, "InvertedDoublePendulum-v5", (3, 6, 24)),
        lambda by: [_shaken(by["round 6"], 0.3), _shaken(by["round 24"], 0.3)],
    ),
    "swimmer": Given(
        "Swimmer-v5", 0.99, None, 30, 40, partial(_found, "Swimmer-v5", (2, 8, 24)),
        lambda by: [_shaken(by["round 8"], 0.4)],
    ),
}  # fmt: skip
