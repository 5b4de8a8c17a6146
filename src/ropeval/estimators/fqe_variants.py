"""FQE under the names that the paper's tables use: the same learner, other defaults.

fqe-clip   targets are clipped to [r_min, r_max]/(1−γ), all that the logged rewards allow
fqe-deep   four hidden layers, and 500,000 steps in the paper
fqe-ln     layer normalisation after each hidden layer
"""

from functools import partial

from pydantic import PositiveInt

from ropeval.estimators.estimator import Estimator
from ropeval.estimators.fqe import PAPER, FQEConfig, estimate


class FQEClipConfig(FQEConfig):
    clip_targets: bool = True


class FQEDeepConfig(FQEConfig):
    depth: PositiveInt = 4


class FQELNConfig(FQEConfig):
    layer_norm: bool = True


FQE_CLIP = Estimator(
    config=FQEClipConfig,
    estimate=partial(estimate, stage="fqe-clip"),
    summary="fitted Q-evaluation with targets clipped to what the rewards allow",
    takes_features=True,
    presets={"paper": PAPER},
    spread=("learning_rate",),
)
FQE_DEEP = Estimator(
    config=FQEDeepConfig,
    estimate=partial(estimate, stage="fqe-deep"),
    summary="fitted Q-evaluation with four hidden layers",
    takes_features=True,
    presets={"paper": PAPER | {"steps": 500_000}},
    spread=("learning_rate",),
)
FQE_LN = Estimator(
    config=FQELNConfig,
    estimate=partial(estimate, stage="fqe-ln"),
    summary="fitted Q-evaluation with layer normalisation",
    takes_features=True,
    presets={"paper": PAPER},
    spread=("learning_rate",),
)
