"""`FILE.py:name` and `package.module:name`: functions of the user's own."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

from ropeval.data import Dataset, make_problem
from ropeval.errors import UserError
from ropeval.policies import load_policy


def test_functions_by_name(columns, tmp_path, monkeypatch):
    (tmp_path / "functions_of_mine.py").write_text(
        "import numpy as np\n"
        "def still(observations): return np.zeros((len(observations), 2))\n"
        "def noisy(observations, rng): return rng.uniform(-1, 1, (len(observations), 2))\n"
        "def broken(observations): raise RuntimeError('oh dear')\n"
        "def wrong(observations): return np.zeros((len(observations), 5))\n"
        "def infinite(observations): return np.full((len(observations), 2), np.inf)\n"
        "def many(a, b, c): pass\n"
        "number = 3\n"
    )
    monkeypatch.chdir(tmp_path)
    log = Dataset.from_columns(columns)
    assert load_policy("functions_of_mine:still").kind == "deterministic"
    assert load_policy("functions_of_mine:noisy").kind == "stochastic"
    make_problem(log, load_policy("functions_of_mine:noisy"), 0.9)
    for name, message in {
        "broken": "RuntimeError: oh dear",
        "wrong": "actions of shape",
        "infinite": "it gave",
    }.items():
        with pytest.raises(UserError, match=message):
            _ = make_problem(log, load_policy(f"functions_of_mine:{name}"), 0.9).transitions  # asks the policy
    for name, message in {"many": "3 arguments", "number": "neither", "absent": "cannot import"}.items():
        with pytest.raises(UserError, match=message):
            load_policy(f"functions_of_mine:{name}")


def documented(start: str) -> str:
    """The block of docs/start/formats.md that starts so."""
    page = (Path(__file__).resolve().parents[3] / "docs" / "start" / "formats.md").read_text(encoding="utf-8")
    return page[page.index(start) :].partition("```")[0]


def test_a_file_of_jax_export_is_a_function_of_a_few_lines(columns, tmp_path, monkeypatch):
    (n,) = export.symbolic_shape("n")
    shape = jax.ShapeDtypeStruct((n, columns["observations"].shape[1]), jnp.float32)
    exported = export.export(jax.jit(lambda observations: jnp.tanh(observations[:, :2])))(shape)
    (tmp_path / "policy.jax").write_bytes(exported.serialize())
    (tmp_path / "of_jax_export.py").write_text(documented("# mine.py, for jax.export"))
    monkeypatch.chdir(tmp_path)
    log = Dataset.from_columns(columns)
    actions = load_policy("of_jax_export:policy").sample(log.observations, np.random.default_rng(0))
    np.testing.assert_allclose(actions, np.tanh(log.observations[:, :2]), atol=1e-6)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own opinion of torch.jit
def test_a_file_of_torch_jit_is_a_function_of_a_few_lines(columns, tmp_path, monkeypatch):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    log = Dataset.from_columns(columns)
    module = torch.nn.Sequential(torch.nn.Linear(log.observations.shape[1], 2), torch.nn.Tanh())
    torch.jit.script(module).save(str(tmp_path / "policy.ts"))
    (tmp_path / "of_torch_jit.py").write_text(documented("# mine.py, for torch.jit"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="TorchScript, which is a program"):
        load_policy("policy.ts")
    actions = load_policy("of_torch_jit:policy").sample(log.observations, np.random.default_rng(0))
    expected = module(torch.tensor(log.observations, dtype=torch.float32)).detach().numpy()
    np.testing.assert_allclose(actions, expected, atol=1e-6)
