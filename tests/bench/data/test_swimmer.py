"""The swimmer that this project builds is the paper's."""

from pathlib import Path

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed (the `bench` extra)")

from ropeval.bench.data.episodes import Player  # noqa: E402
from ropeval.bench.data.swimmer import Swimmer, swimmer_xml  # noqa: E402
from ropeval.policies import UniformPolicy, load_policy  # noqa: E402

REFERENCE = Path(__file__).resolve().parents[4] / "shared" / "reference" / "custom_swimmer.xml"
ENVIRONMENT = "ropeval.bench.data.swimmer:ropeval/Swimmer20-v0"
LOOKS = ("light_", "mat_", "tex_", "name", "geom_matid", "geom_rgba", "text_", "numeric_", "signature", "nbuffer",
         "nlight", "nmat", "ntex", "nnames")  # fmt: skip


def test_sizes():
    env = Swimmer()
    assert env.observation_space.shape == (40,)
    assert env.action_space.shape == (19,)
    assert (env.model.nq, env.model.nv, env.model.nu) == (21, 21, 19)
    assert env.dt == pytest.approx(0.04)


def test_the_compiled_model_is_the_references():
    """Every number that MuJoCo computes with: bodies, masses, inertias, joints, limits, motors, options."""
    if not REFERENCE.exists():
        pytest.skip("the reference model is not here")
    ours, theirs = mujoco.MjModel.from_xml_string(swimmer_xml()), mujoco.MjModel.from_xml_path(str(REFERENCE))
    compared = set()
    for owner in ("", "opt"):
        for name in dir(theirs.opt if owner else theirs):
            if name.startswith("_") or (not owner and name.startswith(LOOKS)):
                continue
            a, b = (getattr(getattr(model, owner) if owner else model, name) for model in (ours, theirs))
            if isinstance(b, (np.ndarray, int, float)):
                np.testing.assert_array_equal(a, b, err_msg=f"{owner}.{name}")
                compared.add(name)
    assert compared >= {
        "body_mass", "body_inertia", "body_pos", "jnt_range", "jnt_limited", "jnt_axis", "dof_armature", "dof_damping",
        "actuator_gear", "actuator_ctrlrange", "geom_size", "density", "viscosity", "timestep", "integrator",
    }  # fmt: skip


def test_reward_is_the_heads_velocity_less_the_cost_of_control():
    env = Swimmer()
    env.reset(seed=3)
    action = np.linspace(-1, 1, 19).astype(np.float32)
    before = env.data.qpos.copy()
    observation, reward, terminated, truncated, _ = env.step(action)
    assert reward == pytest.approx((env.data.qpos[0] - before[0]) / 0.04 - 1e-4 * np.square(action).sum(), abs=1e-9)
    np.testing.assert_array_equal(observation, np.concatenate([env.data.qpos[2:], env.data.qvel]))
    assert not terminated
    assert not truncated


def test_episodes_depend_on_their_number_alone():
    player = Player(ENVIRONMENT, UniformPolicy())
    first = player.play(0, "s", 5)
    player.play(0, "s", 6)
    again = player.play(0, "s", 5)
    assert len(first) == 1000
    np.testing.assert_array_equal(first.observations, again.observations)
    np.testing.assert_array_equal(first.rewards, again.rewards)


@pytest.mark.parametrize(("steps", "mean_reward"), [(350_000, 42.6), (220_000, 31.3)])
def test_the_authors_policies_earn_what_they_should(shared_policies, steps, mean_reward):
    policy = load_policy(shared_policies / f"swimmer_model_sac_{steps}_steps.npz")
    player = Player(ENVIRONMENT, policy)
    earned = [player.play(0, "s", number).rewards.mean() / 0.01 for number in range(3)]
    assert np.mean(earned) == pytest.approx(mean_reward, abs=1.5)
