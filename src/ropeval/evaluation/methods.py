"""Methods by name: an estimator, or `encoder+estimator`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, get_args

import jax

from ropeval.data import Dataset
from ropeval.data.needs import check_needs
from ropeval.encoders import ENCODERS, Encoder
from ropeval.errors import UserError, bare, unknown_name
from ropeval.estimators import ESTIMATORS, Estimator
from ropeval.evaluation.options import Options, Preset
from ropeval.plugins import load_methods
from ropeval.policies import Policy
from ropeval.runtime import sized_for
from ropeval.settings import Overrides, PartConfig, make_config

PRESETS: tuple[str, ...] = get_args(Preset)
ALIASES = {"model": "world"}  # what a method was called before
ALL = "all"  # instead of a name: all that apply to the log


def parts() -> dict[str, Encoder | Estimator]:
    """Every encoder and estimator by name, those of the user's own files included."""
    load_methods()
    return {**ENCODERS, **ESTIMATORS}


@dataclass(frozen=True)
class Method:
    """A named pair of encoder and estimator, each with its configuration."""

    name: str
    encoder: str | None
    estimator: str
    configs: dict[str, PartConfig]  # by part name

    @property
    def entries(self) -> list[Encoder | Estimator]:
        """What the registries hold of its parts, in the order of the work."""
        encoder = [] if self.encoder is None else [ENCODERS[self.encoder]]
        return [*encoder, ESTIMATORS[self.estimator]]

    def describe(self) -> dict[str, Any]:
        return {part: config.model_dump() for part, config in self.configs.items()}

    @property
    def stages(self) -> dict[str, int]:
        """What is trained and in how many steps, in this order."""
        found = [config.stages(part) for part, config in self.configs.items()]
        return {stage: steps for own in found for stage, steps in own.items()}

    @property
    def prepares(self) -> bool:
        """Whether something is trained on the log alone, for all policies."""
        return ESTIMATORS[self.estimator].prepare is not None

    @property
    def spread(self) -> list[str]:
        """Every `part.field` of which the members of one run may have values of their own."""
        return [f"{entry.name}.{field}" for entry in self.entries for field in entry.spread]

    def check_question(self, gamma: float, horizon: int | None) -> None:
        """Refuse a horizon, or γ = 1, where the method knows none; before any work is done."""
        if (horizon is not None or gamma == 1.0) and not ESTIMATORS[self.estimator].takes_horizon:
            raise UserError(
                f"method {self.name}: it cannot count the first steps of an episode alone, so it takes no horizon and "
                "no gamma of 1; leave it out, or ask without"
            )
        if gamma == 1.0 and self.encoder is not None:
            raise UserError(
                f"method {self.name}: {self.encoder} learns distances that are finite for a gamma below 1 only; take "
                f"{self.estimator} alone, or a gamma like 0.999"
            )

    def check(self, dataset: Dataset, policy: Policy) -> None:
        """Refuse a policy that the method cannot judge, before any work is done."""
        for entry in self.entries:
            check_needs(entry.name, entry.needs, dataset, policy)
            if entry.check is not None:
                entry.check(dataset, policy)


def available_methods() -> list[str]:
    """Every name that `make_method` takes."""
    load_methods()
    composed = [
        f"{encoder}+{name}"
        for name, estimator in ESTIMATORS.items()
        if estimator.takes_features
        for encoder in ENCODERS
    ]
    return [*ESTIMATORS, *composed]


def usual_methods() -> list[str]:
    """Every estimator, and every encoder before the estimator that it is usually put before."""
    load_methods()
    return [*ESTIMATORS, *(f"{name}+{encoder.before}" for name, encoder in ENCODERS.items())]


def known_name(name: str) -> str:
    """The method that is meant, whatever the case, underscores and hyphens; as it is, where none is."""
    load_methods()
    known = {bare(part): part for part in (*ALIASES, *ENCODERS, *ESTIMATORS)}
    whole = "+".join(known.get(bare(part), part) for part in name.split("+"))
    return ALIASES.get(whole, whole)


def make_method(name: str, overrides: Overrides | None = None, preset: str = "default") -> Method:
    """`fqe`, `rope+fqe`, … with the settings of a preset and overrides `{"fqe": {"steps": 1000}}` on top."""
    if preset not in PRESETS:
        raise unknown_name("preset", preset, list(PRESETS))
    name = known_name(name)
    encoder, plus, estimator = name.rpartition("+")
    if estimator not in ESTIMATORS or (plus and encoder not in ENCODERS):
        raise unknown_name("method", name, available_methods() if plus else usual_methods())
    if plus and not ESTIMATORS[estimator].takes_features:
        raise UserError(f"method {name!r}: {estimator} takes no features, so no encoder can stand before it")
    chosen_parts: dict[str, Any] = {estimator: ESTIMATORS[estimator]}
    if encoder:
        chosen_parts = {encoder: ENCODERS[encoder]} | chosen_parts
    chosen = overrides or {}
    sizes = sized_for(jax.default_backend()) if preset == "default" else preset
    configs = {
        part: make_config(entry.config, part, entry.presets.get(sizes, {}), chosen.get(part, {}))
        for part, entry in chosen_parts.items()
    }
    return Method(name, encoder or None, estimator, configs)


def check_overrides(overrides: Overrides) -> None:
    """Refuse settings of parts that do not exist, or that have no such field."""
    known = parts()
    for part, fields in overrides.items():
        if part not in known:
            raise unknown_name("part", part, [name for name, entry in known.items() if entry.config.model_fields])
        make_config(known[part].config, part, fields)


def make_methods(options: Options) -> list[Method]:
    """The methods that are asked for by name, each once. Settings that would change none of them are refused."""
    return _make_all(options, [known_name(name) for name in options.method])


class Applicable(NamedTuple):
    methods: list[Method]
    left_out: dict[str, str]  # of "all": by name, the reason why it does not apply


def applicable_methods(options: Options, dataset: Dataset, policies: Sequence[Policy]) -> Applicable:
    """The same for a log and its policies, `all` included. Who is asked for by name is not left out but refused."""
    named = [known_name(name) for name in options.method if bare(name) != ALL]
    every = usual_methods() if len(named) < len(options.method) else []
    left_out: dict[str, str] = {}
    for name in every:
        try:
            for policy in policies:
                make_method(name).check(dataset, policy)
            make_method(name).check_question(options.gamma, options.horizon)
        except UserError as error:
            left_out[name] = str(error)
    return Applicable(_make_all(options, [*named, *(name for name in every if name not in left_out)]), left_out)


def _make_all(options: Options, wanted: Sequence[str]) -> list[Method]:
    check_overrides(options.settings)
    overrides = dict(options.settings)
    if options.steps is not None:
        for part, entry in parts().items():
            if "steps" in entry.config.model_fields:
                overrides[part] = {"steps": options.steps, **overrides.get(part, {})}
    methods = [make_method(name, overrides, options.preset) for name in dict.fromkeys(wanted)]
    asked = [f"{name} is {value}" for name in ("risk", "below") if (value := getattr(options, name)) is not None]
    if asked and not any(ESTIMATORS[method.estimator].tells_returns for method in methods):
        raise UserError(
            f"{asked[0]}, but {', '.join(m.name for m in methods)} cannot tell how returns spread; add a method that "
            f"can: {', '.join(name for name, entry in ESTIMATORS.items() if entry.tells_returns)}"
        )
    for method in methods:
        method.check_question(options.gamma, options.horizon)
    if options.tune and (options.horizon is not None or options.gamma == 1.0):
        raise UserError("tune: settings are chosen by values without a horizon; leave out tune, or horizon and gamma 1")
    if options.by and not any(ESTIMATORS[m.estimator].by_group for m in methods):
        names = ", ".join(method.name for method in methods)
        raise UserError(f"by {options.by}: {names} cannot tell groups apart; world, fqe, wis and mean-return can")
    for part, fields in options.settings.items():
        if fields and not any(part in method.configs for method in methods):
            raise UserError(
                f"setting {part}.{next(iter(fields))}: {part} takes no part in {', '.join(m.name for m in methods)}; "
                "leave it out, or choose a method that it is part of"
            )
    return methods
