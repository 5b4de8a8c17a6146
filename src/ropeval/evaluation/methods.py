"""Methods by name: an estimator, or `encoder+estimator`."""

from dataclasses import dataclass
from typing import Any, get_args

from ropeval.data import Dataset
from ropeval.encoders import ENCODERS, Encoder
from ropeval.errors import UserError, unknown_name
from ropeval.estimators import ESTIMATORS, Estimator
from ropeval.evaluation.options import Options, Preset
from ropeval.plugins import load_methods
from ropeval.policies import Policy
from ropeval.settings import Overrides, PartConfig, make_config

PRESETS: tuple[str, ...] = get_args(Preset)
ALIASES = {"model": "world"}  # what a method was called before


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

    def describe(self) -> dict[str, Any]:
        return {part: config.model_dump() for part, config in self.configs.items()}

    @property
    def stages(self) -> dict[str, int]:
        """What is trained and in how many steps, in this order."""
        found = [config.stages(part) for part, config in self.configs.items()]
        return {stage: steps for own in found for stage, steps in own.items()}

    @property
    def tells_returns(self) -> bool:
        return ESTIMATORS[self.estimator].tells_returns

    @property
    def spread(self) -> list[str]:
        """Every `part.field` of which the members of one run may have values of their own."""
        encoder = ENCODERS[self.encoder].spread if self.encoder is not None else ()
        own = [f"{self.encoder}.{field}" for field in encoder]
        return own + [f"{self.estimator}.{field}" for field in ESTIMATORS[self.estimator].spread]

    def check(self, dataset: Dataset, policy: Policy) -> None:
        """Refuse a policy that the method cannot judge, before any work is done."""
        encoder = ENCODERS[self.encoder].check if self.encoder is not None else None
        for refuse in (encoder, ESTIMATORS[self.estimator].check):
            if refuse is not None:
                refuse(dataset, policy)


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


def make_method(name: str, overrides: Overrides | None = None, preset: str = "default") -> Method:
    """`fqe`, `rope+fqe`, … with the settings of a preset and overrides `{"fqe": {"steps": 1000}}` on top."""
    if preset not in PRESETS:
        raise unknown_name("preset", preset, list(PRESETS))
    load_methods()
    name = ALIASES.get(name, name)
    encoder, plus, estimator = name.rpartition("+")
    if estimator not in ESTIMATORS or (plus and encoder not in ENCODERS):
        raise unknown_name("method", name, available_methods())
    if plus and not ESTIMATORS[estimator].takes_features:
        raise UserError(f"method {name!r}: {estimator} takes no features, so no encoder can stand before it")
    chosen_parts: dict[str, Any] = {estimator: ESTIMATORS[estimator]}
    if encoder:
        chosen_parts = {encoder: ENCODERS[encoder]} | chosen_parts
    chosen = overrides or {}
    configs = {
        part: make_config(entry.config, part, entry.presets.get(preset, {}), chosen.get(part, {}))
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
    """The methods that are asked for, each once. Settings that would change none of them are refused."""
    check_overrides(options.settings)
    overrides = dict(options.settings)
    if options.steps is not None:
        for part, entry in parts().items():
            if "steps" in entry.config.model_fields:
                overrides[part] = {"steps": options.steps, **overrides.get(part, {})}
    names = dict.fromkeys(ALIASES.get(name, name) for name in options.method)
    methods = [make_method(name, overrides, options.preset) for name in names]
    told = {option: getattr(options, option) for option in ("risk", "below")}
    if any(value is not None for value in told.values()) and not any(m.tells_returns for m in methods):
        asked = next(f"{option} is {value}" for option, value in told.items() if value is not None)
        raise UserError(
            f"{asked}, but {', '.join(m.name for m in methods)} cannot tell how returns spread; add a method that can: "
            f"{', '.join(name for name, entry in ESTIMATORS.items() if entry.tells_returns)}"
        )
    for part, fields in options.settings.items():
        if fields and not any(part in method.configs for method in methods):
            raise UserError(
                f"setting {part}.{next(iter(fields))}: {part} takes no part in {', '.join(m.name for m in methods)}; "
                "leave it out, or choose a method that it is part of"
            )
    return methods
