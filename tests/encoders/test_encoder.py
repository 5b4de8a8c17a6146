"""An encoder trains under its own name."""

from types import SimpleNamespace

from ropeval.encoders import ENCODERS
from ropeval.encoders.encoder import Encoded, Encoder
from ropeval.learning.engine import Run, member_keys
from ropeval.settings import PartConfig


def test_what_it_fits_is_called_by_its_name():
    seen = []

    def fit(problem, config, run):
        seen.append(run.part)
        return Encoded(problem.transitions)

    encoder = Encoder("mine", PartConfig, fit, "does nothing")
    problem = SimpleNamespace(transitions=object())
    assert encoder(problem, PartConfig(), Run(member_keys(0, 1), part="fqe")).transitions is problem.transitions
    assert seen == ["mine"]


def test_every_entry_stands_under_its_name():
    assert {name: encoder.name for name, encoder in ENCODERS.items()} == {name: name for name in ENCODERS}
