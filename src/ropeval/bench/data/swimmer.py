"""The paper's swimmer of 20 links: its MuJoCo model, built link by link, and the environment around it.

A head that slides along x draws a chain of `links` capsules; every joint but the last has a motor. With 20 links that
is 21 positions, 21 velocities and 19 actions. As in Gymnasium's Swimmer, the first two positions are not observed
(here the head's x and the first joint's angle), which leaves 40 numbers, and the reward is the head's velocity along
x less a small cost of control.

Importing this module registers `ropeval/Swimmer20-v0` with Gymnasium.
"""

from typing import Any
from xml.etree import ElementTree

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

LINKS = 20
FRAME_SKIP = 4
CONTROL_COST = 1e-4
RESET_NOISE = 0.1
HIDDEN_POSITIONS = 2


def swimmer_xml(links: int = LINKS) -> str:
    """The model as MuJoCo reads it. Water: density 4000, viscosity 0.1; nothing collides."""
    root = ElementTree.Element("mujoco", model="swimmer")
    _add(root, "compiler", angle="degree", inertiafromgeom="true")
    _add(root, "option", timestep="0.01", integrator="RK4", density="4000", viscosity="0.1")
    defaults = _add(root, "default")
    _add(defaults, "geom", contype="0", conaffinity="0", condim="1")
    _add(defaults, "joint", armature="0.1")
    world = _add(root, "worldbody")
    _add(world, "geom", name="floor", type="plane", pos="0 0 -0.1", size="40 40 0.1", condim="3")
    body = _add(world, "body", name="head")
    _add(body, "geom", type="sphere", size="0.2", density="1000")
    _add(body, "joint", name="slide", type="slide", axis="1 0 0")
    motors = _add(root, "actuator")
    for link in range(1, links + 1):
        body = _add(body, "body", name=f"link{link}", pos="0 0 0" if link == 1 else "-1 0 0")
        _add(body, "geom", type="capsule", fromto="0 0 0 -1 0 0", size="0.1", density="1000")
        joint = f"turn{link}"
        _add(body, "joint", name=joint, type="hinge", axis="0 0 1", limited="true", range="-100 100")
        if link < links:
            _add(motors, "motor", joint=joint, gear="150", ctrllimited="true", ctrlrange="-1 1")
    return ElementTree.tostring(root, encoding="unicode")


def _add(parent: ElementTree.Element, tag: str, **attributes: str) -> ElementTree.Element:
    return ElementTree.SubElement(parent, tag, attributes)


class Swimmer(gymnasium.Env[NDArray[np.float64], NDArray[np.float32]]):
    """A chain in water that is paid for going along x. It never ends by itself."""

    def __init__(self, links: int = LINKS) -> None:
        import mujoco

        self._mujoco = mujoco
        self.model = mujoco.MjModel.from_xml_string(swimmer_xml(links))
        self.data = mujoco.MjData(self.model)
        size = self.model.nq + self.model.nv - HIDDEN_POSITIONS
        self.observation_space = Box(-np.inf, np.inf, (size,), np.float64)
        self.action_space = Box(-1.0, 1.0, (self.model.nu,), np.float32)
        self.dt = FRAME_SKIP * self.model.opt.timestep

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float64], dict[str, Any]]:
        super().reset(seed=seed)
        self._mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:] += self.np_random.uniform(-RESET_NOISE, RESET_NOISE, self.model.nq)
        self.data.qvel[:] = self.np_random.uniform(-RESET_NOISE, RESET_NOISE, self.model.nv)
        self._mujoco.mj_forward(self.model, self.data)
        return self._observe(), {}

    def step(self, action: NDArray[np.float32]) -> tuple[NDArray[np.float64], float, bool, bool, dict[str, Any]]:
        before = self.data.qpos[0]
        self.data.ctrl[:] = action
        self._mujoco.mj_step(self.model, self.data, nstep=FRAME_SKIP)
        velocity = (self.data.qpos[0] - before) / self.dt
        reward = velocity - CONTROL_COST * float(np.square(action, dtype=np.float64).sum())
        return self._observe(), float(reward), False, False, {"x_velocity": float(velocity)}

    def _observe(self) -> NDArray[np.float64]:
        return np.concatenate([self.data.qpos[HIDDEN_POSITIONS:], self.data.qvel])


gymnasium.register("ropeval/Swimmer20-v0", entry_point=f"{__name__}:Swimmer", max_episode_steps=1_000)
