"""Playing episodes: each seeded by its own number, so that who plays it, and beside whom, changes nothing."""

import contextlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropeval.errors import UserError
from ropeval.policies.policy import Policy, Space, draw_actions

Columns = dict[str, NDArray[Any]]


@dataclass
class Episode:
    observations: NDArray[np.float32]  # [T + 1, S]
    actions: NDArray[Any]  # [T, A], or [T] integers
    rewards: NDArray[np.float64]  # [T]
    terminated: bool  # at the last step, by the task's own rule
    truncated: bool  # at the last step, by the time limit

    def __len__(self) -> int:
        return len(self.rewards)


class Player:
    """An environment and a policy that fit each other."""

    def __init__(self, environment: str, policy: Policy, max_steps: int | None = None):
        self.env, self.time_limit = make_environment(environment, max_steps)
        self.space = space_of(self.env, environment)
        self.policy = policy.fitted(self.space)
        observation, _ = self.env.reset(seed=0)
        draw_actions(self.policy, _flat(observation)[None], 1, np.random.default_rng(0))  # refuses what does not fit

    def play(self, seed: int, stream: str, number: int) -> Episode:
        """Episode `number` of a stream. Observations are rounded to float32 before the policy sees them, as logged."""
        env, sample = self.env, self.policy.sample
        for_policy, for_env = np.random.SeedSequence([seed, *stream.encode(), number]).spawn(2)
        rng = np.random.default_rng(for_policy)
        raw, _ = env.reset(seed=int(for_env.generate_state(1)[0]))
        observation = _flat(raw)
        observations, actions, rewards = [observation], [], []
        terminated = truncated = False
        while not (terminated or truncated):
            answer = sample(observation[None], rng)[0]
            action = int(answer) if self.space.discrete else np.asarray(answer, np.float32)
            raw, reward, terminated, truncated, _ = env.step(action)
            observation = _flat(raw)
            observations.append(observation)
            actions.append(action)
            rewards.append(reward)
        kind = np.int32 if self.space.discrete else np.float32
        return Episode(
            np.array(observations), np.array(actions, kind), np.array(rewards, np.float64),
            bool(terminated), bool(truncated),
        )  # fmt: skip

    def columns(self, episodes: list[Episode]) -> Columns:
        """Flat columns under Minari's names, with the length of each episode."""
        lengths = np.array([len(episode) for episode in episodes])
        ends = np.cumsum(lengths) - 1
        terminations, truncations = np.zeros(lengths.sum(), bool), np.zeros(lengths.sum(), bool)
        terminations[ends] = [episode.terminated for episode in episodes]
        truncations[ends] = [episode.truncated for episode in episodes]
        columns = {
            "lengths": lengths,
            "observations": np.concatenate([episode.observations[:-1] for episode in episodes]),
            "next_observations": np.concatenate([episode.observations[1:] for episode in episodes]),
            "actions": np.concatenate([episode.actions for episode in episodes]),
            "rewards": np.concatenate([episode.rewards for episode in episodes]).astype(np.float32),
            "terminations": terminations,
            "truncations": truncations,
        }
        if self.policy.has_log_prob:
            # Asked episode by episode: products of matrices of other shapes may round otherwise.
            columns["log_probs"] = np.concatenate(
                [self.policy.log_prob(e.observations[:-1], e.actions) for e in episodes]
            ).astype(np.float32)
        return columns

    def close(self) -> None:
        self.env.close()


def make_environment(environment: str, max_steps: int | None = None) -> tuple[Any, int | None]:
    """The environment, and the time limit it was registered with (`max_steps` replaces it while playing)."""
    try:
        import gymnasium
    except ImportError as error:
        raise UserError("playing episodes needs Gymnasium and MuJoCo: pip install 'ropeval[bench]'") from error
    with _quiet():
        try:
            env: Any = gymnasium.make(environment, max_episode_steps=max_steps, disable_env_checker=True)
            registered = gymnasium.spec(env.spec.id).max_episode_steps
        except (gymnasium.error.Error, ImportError) as error:
            raise UserError(
                f"environment {environment}: cannot be made ({error}); check its id, and that "
                "pip install 'ropeval[bench]' was done"
            ) from error
    return env, registered


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """v4 environments are older than Gymnasium and MuJoCo like; the paper used them, and so do these tasks.

    MuJoCo would write its complaint about their models to a file in the current folder.
    """
    with warnings.catch_warnings(), contextlib.ExitStack() as stack:
        warnings.simplefilter("ignore", DeprecationWarning)
        with contextlib.suppress(ImportError):  # not every environment needs it
            import mujoco

            earlier = mujoco.get_mju_user_warning()
            mujoco.set_mju_user_warning(lambda message: None)
            stack.callback(mujoco.set_mju_user_warning, earlier)
        yield


def _flat(observation: Any) -> NDArray[np.float32]:
    return np.asarray(observation, np.float32).reshape(-1)


def space_of(env: Any, name: str) -> Space:
    from gymnasium.spaces import Box, Discrete

    if not isinstance(env.observation_space, Box):
        raise UserError(f"environment {name}: observations are {env.observation_space}; only boxes of numbers work")
    size = int(np.prod(env.observation_space.shape))
    actions = env.action_space
    if isinstance(actions, Discrete) and actions.start == 0:
        return Space(size, int(actions.n), discrete=True)
    if isinstance(actions, Box) and len(actions.shape) == 1 and actions.is_bounded():
        return Space(size, actions.shape[0], False, actions.low.astype(np.float32), actions.high.astype(np.float32))
    raise UserError(f"environment {name}: actions are {actions}; expected a bounded box, or integers from 0")
