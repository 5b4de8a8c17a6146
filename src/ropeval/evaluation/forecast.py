"""How long a run will take, and which sizes fit into a given time.

No clock is asked: the same question on the same machine must get the same sizes, or it could not be resumed. The work
is counted (numbers of multiplications), and divided by what the machines of benchmarks/results/speed-*.md did per
second. A machine that is busy, or slower, takes longer; the progress bar then knows better.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from ropeval.data import Dataset
from ropeval.data.horizon import resolved_horizon
from ropeval.data.numbered import numbered_states
from ropeval.data.problem import DEFAULT_DRAWS, EXACT
from ropeval.estimators.world import WorldConfig, horizon_for, lifetime, rollouts_for
from ropeval.estimators.world.prepared import log_value_steps
from ropeval.evaluation.methods import Method, applicable_methods
from ropeval.evaluation.options import Options
from ropeval.policies import Policy
from ropeval.runtime import cores

PER_CORE, PER_GPU = 48e9, 45e12  # multiplications and additions per second, as measured for fqe and rope
GPU_STEP = 70e-6  # seconds of a step, however small
COMPILED = 3.0  # seconds per stage, until it runs
LOOKED_BACK = 3  # a row that is learned from costs one pass through its network and two back, but of its first layer
# only one: nothing asks how the loss follows the inputs. With 4, 50, 200 and 500 of them the CPU time of a step of fqe
# was 0.7 to 0.8 of what is counted so, that of world 1.1 to 1.6 (benchmarks/results/speed-width-cpu.md).
ENCODER_PASSES = 7  # of rope and its kin: pairs of rows, and their next ones
FEWEST_MEMBERS, MOST_MEMBERS = 3, 20  # a spread from fewer says little; beyond, intervals hardly shrink
LEAST_SHARE, MOST_SHARE = 0.1, 4.0  # of the usual steps
FEWEST_STEPS = 500  # below, nothing is learned
WORTH_SAYING = 10.0  # seconds


@dataclass(frozen=True)
class Forecast:
    seconds: dict[str, float]  # by method, of all policies together

    @property
    def total(self) -> float:
        return sum(self.seconds.values())

    def __str__(self) -> str:
        each = sorted(self.seconds.items(), key=lambda item: -item[1])
        return f"about {spoken(self.total)}: {', '.join(f'{name} {spoken(s)}' for name, s in each if s >= 1.0)}"


def spoken(seconds: float) -> str:
    """In two digits at most: it is a guess."""
    if seconds < 90:
        return f"{float(f'{seconds:.1g}') if seconds < 10 else round(seconds, -1):.0f} s"
    if seconds < 90 * 60:
        return f"{float(f'{seconds / 60:.2g}'):g} min"
    return f"{float(f'{seconds / 3600:.2g}'):g} h"


def forecast(methods: Sequence[Method], dataset: Dataset, policies: Sequence[Policy], options: Options) -> Forecast:
    """What is prepared once per log is counted for the first method that needs it."""
    counted = _Counted(dataset, options)
    return Forecast({method.name: counted.method(method, policies) for method in methods})


class _Counted:
    """The work on one log, with what was prepared already."""

    def __init__(self, dataset: Dataset, options: Options) -> None:
        self.dataset, self.options, self.members = dataset, options, options.members
        self.states = numbered_states(dataset, options.numbers)
        self.columns = len(self.states.numbers) if self.states else dataset.observations.shape[1]  # as learners see it
        self.inputs = self.columns + (dataset.num_actions or dataset.actions.shape[-1])
        self.on_gpu = jax.default_backend() != "cpu"
        self.prepared: set[str] = set()

    def method(self, method: Method, policies: Sequence[Policy]) -> float:
        total = 0.0
        for part, config in method.configs.items():
            if isinstance(config, WorldConfig):
                total += self._first("world") * self._world(config)
                total += sum(self._rollouts(config, policy) for policy in policies)
                continue
            for stage, steps in config.stages(part).items():
                if stage == "behaviour":
                    asked = self.dataset.log_probs is None and self._first(stage)
                    total += asked * self._training(config, steps, LOOKED_BACK)
                elif steps:
                    passes = [self._passes(part, config, policy, method) for policy in policies]
                    total += sum(self._training(config, self._steps(config, steps), each) for each in passes)
        return total

    def _first(self, what: str) -> bool:
        """Whether it still has to be prepared."""
        new = what not in self.prepared
        self.prepared.add(what)
        return new

    def _steps(self, config: Any, steps: int) -> int:
        return _usual_steps(config, self.dataset, self.options) or steps

    def _passes(self, part: str, config: Any, policy: Policy, method: Method) -> float:
        """Through the network, for every row of a batch."""
        if part == method.encoder:
            return ENCODER_PASSES
        looked_at = draws(policy, self.options, self.dataset)
        some = getattr(config, "actions", None) if self.dataset.num_actions is None else None
        return LOOKED_BACK + min(looked_at, some or looked_at)

    def _training(self, config: Any, steps: int, passes: float) -> float:
        width, depth, batch = (getattr(config, name, usual) or usual for name, usual in _USUAL.items())
        return self._time(steps, batch * self._work(width, depth, 1, passes))

    def _work(self, width: int, depth: int, outputs: int, passes: float) -> float:
        """Multiplications and additions of a row that is learned from."""
        hidden = (depth - 1) * width**2 + width * outputs
        return 2.0 * (self.inputs * width * (passes - 1) + hidden * passes)

    def _world(self, config: WorldConfig) -> float:
        sizes = config.sizes(len(self.dataset), "gpu" if self.on_gpu else "cpu")
        steps, log_value = (
            self._time(count, sizes.batch * self._work(sizes.width, sizes.depth, outputs, LOOKED_BACK))
            for count, outputs in ((sizes.steps, self.columns), (log_value_steps(sizes.steps), 1))
        )
        return steps + log_value

    def _rollouts(self, config: WorldConfig, policy: Policy) -> float:
        sizes = config.sizes(len(self.dataset), "gpu" if self.on_gpu else "cpu")
        by_chance = self.states is not None or not policy.deterministic
        steps = self.options.horizon or horizon_for(min(self.options.gamma, 0.9999), config.max_horizon)
        count = config.rollouts or rollouts_for(self.dataset, steps, "gpu" if self.on_gpu else "cpu", by_chance)
        steps = lifetime(self.dataset, steps)
        network = (self.inputs + self.columns) * sizes.width + (sizes.depth - 1) * sizes.width**2
        return self._time(steps, 2.0 * network * count)

    def _time(self, steps: int, work: float) -> float:
        """Seconds of all members' steps of so much work each."""
        if self.on_gpu:
            return COMPILED + steps * max(GPU_STEP, self.members * work / PER_GPU)
        return COMPILED + steps * self.members * work / (PER_CORE * cores())


_USUAL = {"width": 256, "depth": 2, "batch": 256}


def draws(policy: Policy, options: Options, dataset: Dataset) -> int:
    """Actions of the policy that are looked at in every state."""
    if policy.deterministic:
        return 1
    if options.draws is None and dataset.num_actions is not None and dataset.num_actions <= EXACT:
        return dataset.num_actions
    return options.draws or DEFAULT_DRAWS


# --- the other way round --------------------------------------------------------------------------------------


def fit_minutes(options: Options, dataset: Dataset, policies: Sequence[Policy]) -> Options:
    """The options whose sizes fit into `options.minutes`: less time takes steps first and then members, more time
    goes into members first and then into steps, as far as the log has something left to teach."""

    def methods(of: Options) -> list[Method]:
        return applicable_methods(of, dataset, policies).methods

    if options.minutes is None or not forecast(methods(options), dataset, policies, options).total:
        return options  # nothing is trained, so nothing follows
    given = "members" in options.model_fields_set
    usual = options.members

    def sized(share: float, members: int) -> Options:
        steps = {part: dict(fields) for part, fields in options.settings.items()}
        for method in methods(options):
            for part, config in method.configs.items():
                if "steps" in type(config).model_fields and "steps" not in steps.get(part, {}) and share != 1.0:
                    steps.setdefault(part, {})["steps"] = _scaled(config, share, dataset, options)
        return options.model_copy(update={"settings": steps, "members": members})

    def fits(chosen: Options) -> bool:
        return forecast(methods(chosen), dataset, policies, chosen).total <= 60.0 * (options.minutes or 0.0)

    shares = [float(share) for share in np.geomspace(LEAST_SHARE, 1.0, 12)]
    more = [float(share) for share in np.geomspace(1.0, MOST_SHARE, 8)]
    fewer = range(min(usual, FEWEST_MEMBERS), usual + 1)
    greater = range(usual, max(usual, MOST_MEMBERS) + 1)
    tried = [sized(shares[0], m) for m in ([usual] if given else fewer)]
    tried += [sized(share, usual) for share in shares[1:]]
    tried += [sized(1.0, m) for m in ([] if given else greater)]
    tried += [sized(share, usual if given else max(usual, MOST_MEMBERS)) for share in more[1:]]
    return next((chosen for chosen in reversed(tried) if fits(chosen)), tried[0])  # from the largest down


def _usual_steps(config: Any, dataset: Dataset, options: Options) -> int | None:
    """Of a part whose steps follow the log and how far the question looks; None: those of its settings."""
    if not hasattr(config, "steps_for"):
        return None
    gamma = options.gamma
    return int(config.steps_for(len(dataset), gamma, resolved_horizon(dataset, gamma, options.horizon)))


def _scaled(config: Any, share: float, dataset: Dataset, options: Options) -> int:
    """So much of the steps that the part would take; of a small log no more passes than it would."""
    if isinstance(config, WorldConfig):
        sizes = config.sizes(len(dataset), jax.default_backend())
        usual, most = sizes.steps, config.passes * len(dataset) / sizes.batch
    else:
        usual = _usual_steps(config, dataset, options) or config.steps
        passes, batch = getattr(config, "passes", None), getattr(config, "batch", 256)
        most = np.inf if passes is None else passes * len(dataset) / batch
    return max(min(usual, FEWEST_STEPS), int(min(share * usual, max(usual, most))))
