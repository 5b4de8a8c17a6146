"""CleanRL's state dicts, against the same networks written out by hand."""

import numpy as np
import pytest

from ropeval.errors import UserError
from ropeval.policies import load_policy
from tests.policies.torch_files import state_dict, torch_save

RNG = np.random.default_rng(0)
SEEN = RNG.normal(size=(20, 3)).astype(np.float32)


def linear(inputs, outputs):
    return RNG.normal(size=(outputs, inputs)) / 2, RNG.normal(size=outputs) / 4


def network(prefix, outputs=2):
    layers = [linear(3, 8), linear(8, 8), linear(8, outputs)]
    named: dict[str, np.ndarray] = {}
    for place, (weight, bias) in enumerate(layers):
        named |= {f"{prefix}__{2 * place}__weight": weight, f"{prefix}__{2 * place}__bias": bias}
    return named, layers


def forward(layers, activation):
    x = SEEN
    for weight, bias in layers[:-1]:
        x = activation(x @ weight.T + bias)
    return x @ layers[-1][0].T + layers[-1][1]


def relu(x):
    return np.maximum(x, 0)


def test_ppo(tmp_path):
    actor, layers = network("actor")
    critic, _ = network("critic", 1)
    policy = load_policy(torch_save(tmp_path / "ppo.cleanrl_model", state_dict(**critic, **actor)))
    logits = forward(layers, np.tanh)
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(policy.action_probabilities(SEEN), expected, atol=1e-5)
    assert not policy.deterministic


def test_ppo_continuous_needs_to_know_about_its_observations(tmp_path):
    mean, layers = network("actor_mean")
    path = torch_save(tmp_path / "ppo.cleanrl_model", state_dict(**mean, actor_logstd=np.full((1, 2), -1.0)))
    with pytest.raises(UserError, match=r"normalises observations and does not save how.*\+none"):
        load_policy(path)
    policy = load_policy(f"{path}+none@mean")
    np.testing.assert_allclose(policy.sample(SEEN, np.random.default_rng(0)), forward(layers, np.tanh), atol=1e-5)
    noisy = load_policy(f"{path}+none").sample(SEEN.repeat(500, axis=0), np.random.default_rng(0))
    assert (noisy - forward(layers, np.tanh).repeat(500, axis=0)).std() == pytest.approx(np.exp(-1.0), rel=0.05)


def test_dqn(tmp_path):
    named, layers = network("network", 4)
    policy = load_policy(torch_save(tmp_path / "dqn.cleanrl_model", state_dict(**named)))
    np.testing.assert_array_equal(policy.sample(SEEN, np.random.default_rng(0)), forward(layers, relu).argmax(axis=1))
    with pytest.raises(UserError, match="c51"):
        load_policy(torch_save(tmp_path / "c51.cleanrl_model", state_dict(**named, atoms=np.zeros(51))))


@pytest.mark.parametrize("output", ["fc_mu", "fc_mean"])
def test_actors_with_a_box(tmp_path, output):
    layers = [linear(3, 8), linear(8, 8), linear(8, 2)]
    names = ["fc1", "fc2", output]
    named = {f"{n}__{kind}": array for n, pair in zip(names, layers, strict=True)
             for kind, array in zip(("weight", "bias"), pair, strict=True)}  # fmt: skip
    actor = state_dict(**named, action_scale=[[2.0, 5.0]], action_bias=[[0.0, 1.0]])
    path = torch_save(tmp_path / "td3.cleanrl_model", (actor, state_dict(fc1__weight=np.zeros((2, 2)))))
    if output == "fc_mean":
        with pytest.raises(UserError, match="@mean"):
            load_policy(path)
    policy = load_policy(f"{path}@mean")
    expected = np.tanh(forward(layers, relu)) * [2.0, 5.0] + [0.0, 1.0]
    np.testing.assert_allclose(policy.sample(SEEN, np.random.default_rng(0)), expected, atol=1e-5)
    assert policy.deterministic


def test_files_that_torch_itself_saved(tmp_path):
    """As CleanRL's `ppo` and `td3_continuous_action` save them, after a step of an optimiser."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    nn, seen = torch.nn, torch.from_numpy(SEEN)

    class Actor(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self):
            super().__init__()
            self.fc1, self.fc2, self.fc_mu = nn.Linear(3, 16), nn.Linear(16, 16), nn.Linear(16, 2)
            self.register_buffer("action_scale", torch.tensor([2.0, 5.0]))
            self.register_buffer("action_bias", torch.tensor([0.0, 1.0]))

        def forward(self, x):
            hidden = torch.relu(self.fc2(torch.relu(self.fc1(x))))
            return torch.tanh(self.fc_mu(hidden)) * self.action_scale + self.action_bias

    agent, actor = nn.Module(), Actor()
    agent.actor = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 4))
    agent.critic = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
    for network in (agent.actor, actor):
        optimiser = torch.optim.Adam(network.parameters(), lr=0.1)
        network(seen).square().mean().backward()
        optimiser.step()
    torch.save(agent.state_dict(), tmp_path / "ppo.cleanrl_model")
    torch.save((actor.state_dict(), nn.Linear(5, 1).state_dict()), tmp_path / "td3.cleanrl_model")
    with torch.no_grad():
        chances, actions = torch.softmax(agent.actor(seen), dim=1).numpy(), actor(seen).numpy()
    read = load_policy(tmp_path / "ppo.cleanrl_model").action_probabilities(SEEN)
    np.testing.assert_allclose(read, chances, atol=1e-5)
    taken = load_policy(tmp_path / "td3.cleanrl_model").sample(SEEN, np.random.default_rng(0))
    np.testing.assert_allclose(taken, actions, atol=1e-5)


def test_what_is_not_known_is_refused_with_the_way_out(tmp_path):
    with pytest.raises(UserError, match=r"not of a CleanRL script.*found body.*ONNX"):
        load_policy(torch_save(tmp_path / "a.cleanrl_model", state_dict(body__weight=np.zeros((2, 2)))))
    with pytest.raises(UserError, match="convolutional"):
        load_policy(torch_save(tmp_path / "b.cleanrl_model", state_dict(network__0__weight=np.zeros((2, 2, 2, 2)))))
    with pytest.raises(UserError, match=r"weights without the architecture.*torch\.onnx\.export.*\.cleanrl_model"):
        load_policy(torch_save(tmp_path / "c.pt", state_dict(actor__0__weight=np.zeros((2, 2)))))
