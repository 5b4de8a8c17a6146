"""Policies from files and functions: what they do, and what is refused."""

import numpy as np
import pytest
from scipy import integrate

from ropeval.data import Dataset, make_problem
from ropeval.errors import UserError
from ropeval.policies import CallablePolicy, GaussianMLP, UniformPolicy, load_policy

RNG = np.random.default_rng(0)


def arrays(layout="deep_ope", inputs=3, width=8, actions=2):
    rng = np.random.default_rng(1)
    shapes = [(width, inputs), (width, width), (actions, width), (actions, width)]
    names = {
        "deep_ope": ["fc0_w", "fc1_w", "mean_w", "logstd_w"],
        "sb3": ["actor/latent_pi/0/weight", "actor/latent_pi/2/weight", "actor/mu/weight", "actor/log_std/weight"],
    }[layout]
    result = {}
    for name, shape in zip(names, shapes, strict=True):
        result[name] = rng.standard_normal(shape).astype(np.float32) * 0.5
        bias = name.replace("_w", "_b") if layout == "deep_ope" else name.replace("weight", "bias")
        result[bias] = rng.standard_normal(shape[0]).astype(np.float32) * 0.1
    return result


def save(tmp_path, content, name="policy.npz"):
    np.savez(tmp_path / name, **content)
    return tmp_path / name


@pytest.mark.parametrize("layout", ["deep_ope", "sb3"])
def test_the_three_action_modes(tmp_path, layout):
    content = arrays(layout)
    path = save(tmp_path, content)
    observations = RNG.standard_normal((500, 3)).astype(np.float32)
    keys = [k for k in content if k.endswith(("_w", "weight"))]
    h = observations
    for weight in keys[:2]:
        bias = weight.replace("_w", "_b") if layout == "deep_ope" else weight.replace("weight", "bias")
        h = np.maximum(h @ content[weight].T + content[bias], 0)
    (mw, mb), (sw, sb) = [
        (content[k], content[k.replace("_w", "_b") if layout == "deep_ope" else k.replace("weight", "bias")])
        for k in keys[2:]
    ]
    mean, std = h @ mw.T + mb, np.exp(h @ sw.T + sb)
    rng = np.random.default_rng(0)
    np.testing.assert_allclose(load_policy(f"{path}@mean").sample(observations, rng), np.tanh(mean), rtol=1e-5)
    np.testing.assert_allclose(
        load_policy(f"{path}@offset").sample(observations, rng), np.tanh(mean + 0.1 * std), rtol=1e-5
    )
    stochastic = load_policy(path)
    assert (stochastic.kind, load_policy(f"{path}@mean").kind) == ("stochastic", "deterministic")
    draws = np.stack([np.arctanh(stochastic.sample(observations, rng).astype(float)) for _ in range(400)])
    np.testing.assert_allclose(np.median(draws, axis=0), mean, atol=0.35 * std.max())
    assert abs(np.mean((draws - mean) ** 2 / std**2) - 1) < 0.05


def test_actions_are_scaled_to_the_stored_range(tmp_path):
    bounds = {"action_low": np.array([-2, 0], np.float32), "action_high": np.array([2, 10], np.float32)}
    policy = load_policy(save(tmp_path, arrays() | bounds))
    actions = policy.sample(RNG.standard_normal((1000, 3)).astype(np.float32), RNG)
    assert (actions >= [-2, 0]).all()
    assert (actions <= [2, 10]).all()
    assert actions[:, 1].max() > 5


def test_the_density_integrates_to_one(tmp_path):
    content = arrays(actions=1) | {"action_low": np.float32([-2]), "action_high": np.float32([3])}
    policy = load_policy(save(tmp_path, content))
    observation = RNG.standard_normal((1, 3)).astype(np.float32)
    density = lambda a: np.exp(policy.log_prob(observation, np.array([[a]]))[0])  # noqa: E731
    total, _ = integrate.quad(density, -2 + 1e-6, 3 - 1e-6, limit=200)
    assert total == pytest.approx(1, abs=2e-3)


def test_published_policies_load(shared_policies):
    hopper = load_policy(shared_policies / "hopper_online_10.npz")
    cheetah = load_policy(f"{shared_policies / 'cheetah_model_sac_420000_steps.npz'}@mean")
    assert (hopper.observation_size, hopper.action_size, hopper.kind) == (11, 3, "stochastic")
    assert (cheetah.observation_size, cheetah.action_size, cheetah.kind) == (17, 6, "deterministic")
    assert "deterministic" in repr(cheetah)


def test_uniform_over_the_logs_range_a_box_and_a_set(columns):
    log = Dataset.from_columns(columns)
    over_log = load_policy("uniform")
    x = np.asarray(make_problem(log, over_log, 0.9, draws=64).transitions.rows.next_x[..., 3:])
    assert (x >= log.actions.min(0) - 1e-6).all()
    assert (x <= log.actions.max(0) + 1e-6).all()
    box = load_policy("uniform:-3,3")
    assert abs(np.asarray(make_problem(log, box, 0.9, draws=64).transitions.rows.next_x[..., 3:])).max() > 2
    discrete = Dataset.from_columns(columns | {"actions": np.arange(12) % 3})
    rows = np.asarray(make_problem(discrete, UniformPolicy(), 0.9, draws=64).transitions.rows.next_x[..., 3:])
    np.testing.assert_allclose(rows.mean(axis=(0, 1)), 1 / 3, atol=0.1)


def test_functions_by_name(columns, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
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
    monkeypatch.syspath_prepend(str(tmp_path))
    log = Dataset.from_columns(columns)
    assert load_policy("mine:still").kind == "deterministic"
    assert load_policy("mine:noisy").kind == "stochastic"
    make_problem(log, load_policy("mine:noisy"), 0.9)
    for name, message in {
        "broken": "RuntimeError: oh dear",
        "wrong": "actions of shape",
        "infinite": "it gave",
    }.items():
        with pytest.raises(UserError, match=message):
            make_problem(log, load_policy(f"mine:{name}"), 0.9)
    for name, message in {"many": "3 arguments", "number": "neither", "absent": "cannot import"}.items():
        with pytest.raises(UserError, match=message):
            load_policy(f"mine:{name}")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.pop("fc1_b"), "missing fc1_b"),
        (lambda c: c.pop("fc0_w"), "unknown layout"),
        (lambda c: c.update(fc1_w=np.zeros((8, 9), np.float32)), "layer 1 has weight"),
        (lambda c: c.update(logstd_w=np.zeros((3, 8), np.float32)), "differ in shape"),
        (lambda c: c["mean_w"].__setitem__((0, 0), np.nan), "not finite"),
        (lambda c: c.update(mean_w=c["mean_w"].astype(int)), "not floating-point"),
        (lambda c: c.update(action_low=np.zeros(5, np.float32)), "action_low and action_high"),
        (lambda c: c.update(mode=np.array("wild")), "mode is 'wild'"),
    ],
)
def test_bad_policy_files_are_refused_by_name(tmp_path, change, message):
    content = arrays()
    change(content)
    path = save(tmp_path, content)
    with pytest.raises(UserError, match=message) as caught:
        load_policy(path)
    assert "policy" in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("absent.npz", "no such file"),
        ("nonsense", "no such file"),
        ("uniform:a,b", "expected uniform:LOW,HIGH"),
        ("no.such.module:f", "cannot import"),
    ],
)
def test_bad_names_are_refused(spec, message):
    with pytest.raises(UserError, match=message):
        load_policy(spec)


def test_an_unknown_mode_lists_the_modes(tmp_path):
    path = save(tmp_path, arrays())
    with pytest.raises(UserError, match="stochastic, mean, offset"):
        load_policy(f"{path}@greedy")


@pytest.mark.parametrize(("inputs", "actions", "message"), [(4, 2, "size 4"), (3, 1, "1 numbers per action")])
def test_a_policy_that_does_not_fit_the_log_is_refused(columns, tmp_path, inputs, actions, message):
    policy = load_policy(save(tmp_path, arrays(inputs=inputs, actions=actions)))
    with pytest.raises(UserError, match=message):
        make_problem(Dataset.from_columns(columns), policy, 0.9)


def test_a_continuous_policy_on_a_discrete_log_is_refused(columns, tmp_path):
    log = Dataset.from_columns(columns | {"actions": np.arange(12) % 3})
    with pytest.raises(UserError, match="its actions are continuous"):
        make_problem(log, load_policy(save(tmp_path, arrays())), 0.9)


def test_discrete_answers_outside_the_set_are_refused(columns):
    log = Dataset.from_columns(columns | {"actions": np.arange(12) % 3})
    policy = CallablePolicy(lambda o: np.full(len(o), 3), deterministic=True)
    with pytest.raises(UserError, match="it gave action 3"):
        make_problem(log, policy, 0.9)


def test_the_hash_tells_policies_and_modes_apart(tmp_path):
    a, b = arrays(), arrays(layout="sb3")
    path = save(tmp_path, a)
    assert isinstance(load_policy(path), GaussianMLP)
    hashes = {
        load_policy(path).sha256,
        load_policy(f"{path}@mean").sha256,
        load_policy(save(tmp_path, b, "b.npz")).sha256,
    }
    assert len(hashes) == 3
