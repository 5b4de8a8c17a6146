"""Make the small ONNX policies of tests/policies/files: two exports of d3rlpy, and one with a free batch size.

    pip install torch d3rlpy onnx                            # in an environment of its own
    python scripts/make_onnx_fixtures.py tests/policies/files

d3rlpy 2.8.1 hands torch.onnx.export a traced function, which the exporter that torch 2.9 made the default refuses;
`dynamo=False` asks for the older one. A user of d3rlpy with such a torch needs the same line.
"""

import sys
from functools import partial
from pathlib import Path
from typing import Any

import d3rlpy
import numpy as np
import torch

torch.onnx.export = partial(torch.onnx.export, dynamo=False)


def make_log(rng: np.random.Generator, discrete: bool) -> d3rlpy.dataset.MDPDataset:
    count = 400
    actions = rng.integers(0, 4, (count, 1)) if discrete else rng.uniform(-2, 2, (count, 2)).astype(np.float32)
    return d3rlpy.dataset.MDPDataset(
        (2 * rng.standard_normal((count, 3)) + 1).astype(np.float32),
        actions,
        rng.standard_normal(count).astype(np.float32),
        np.zeros(count, np.float32),
        timeouts=np.tile(np.arange(20) == 19, count // 20).astype(np.float32),
    )


def main(folder: Path) -> None:
    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    observations = (2 * rng.standard_normal((20, 3)) + 1).astype(np.float32)
    expected: dict[str, Any] = {"observations": observations}
    encoder = d3rlpy.models.VectorEncoderFactory([6, 5])
    scaler = d3rlpy.preprocessing.StandardObservationScaler
    algorithms = {
        "td3": d3rlpy.algos.TD3Config(
            batch_size=16,
            actor_encoder_factory=encoder,
            critic_encoder_factory=encoder,
            observation_scaler=scaler(),
            action_scaler=d3rlpy.preprocessing.MinMaxActionScaler(),
        ),
        "dqn": d3rlpy.algos.DoubleDQNConfig(batch_size=16, encoder_factory=encoder, observation_scaler=scaler()),
    }
    for name, config in algorithms.items():
        algorithm = config.create()
        algorithm.fit(
            make_log(rng, name == "dqn"), n_steps=20, n_steps_per_epoch=20, show_progress=False,
            logger_adapter=d3rlpy.logging.NoopAdapterFactory(),
        )  # fmt: skip
        algorithm.save_policy(str(folder / f"d3rlpy_{name}.onnx"))
        expected[name] = algorithm.predict(observations)
    network = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2), torch.nn.Sigmoid())
    torch.onnx.export(
        network, torch.zeros(1, 3), str(folder / "free_batch.onnx"), input_names=["observations"],
        output_names=["actions"], dynamic_axes={"observations": {0: "n"}, "actions": {0: "n"}},
    )  # fmt: skip
    expected["free_batch"] = network(torch.as_tensor(observations)).detach().numpy()
    np.savez(folder / "expected_onnx.npz", **expected)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
