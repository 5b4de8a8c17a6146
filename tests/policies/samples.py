"""Policy files made on the spot: deep_ope's and Stable-Baselines3's networks under their names."""

import pickle
from pathlib import Path

import numpy as np

LOW, HIGH = np.float32([-2, 0]), np.float32([2, 10])  # the box of the committed zips


def arrays(layout="deep_ope", inputs=3, width=8, actions=2):
    """What an .npz policy holds."""
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


def save(folder: Path, content, name="policy.npz") -> Path:
    np.savez(folder / name, **content)
    return folder / name


def deep_ope(nonlinearity="relu", output="tanh_gaussian", protocol=4, **changes):
    """What a deep_ope pickle holds, and its bytes."""
    rng = np.random.default_rng(1)
    shapes = {"fc0": (8, 3), "fc1": (7, 8), "last_fc": (2, 7), "last_fc_log_std": (2, 7)}
    content = {}
    for name, shape in shapes.items():
        content[f"{name}/weight"] = rng.standard_normal(shape).astype(np.float32) / 2
        content[f"{name}/bias"] = rng.standard_normal(shape[0]).astype(np.float32) / 4
    content |= {"nonlinearity": nonlinearity, "output_distribution": output} | changes
    return content, pickle.dumps({k: v for k, v in content.items() if v is not None}, protocol)


def written_deep_ope(folder: Path, nonlinearity="relu", output="tanh_gaussian") -> Path:
    path = folder / "policy.pkl"
    path.write_bytes(deep_ope(nonlinearity, output)[1])
    return path
