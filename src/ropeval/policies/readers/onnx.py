"""ONNX policies: observations in, actions out, deterministic. onnxruntime runs them, within bounds (`onnx` extra)."""

import copy
import hashlib
import threading
from functools import cache
from typing import Any

import numpy as np

from ropeval.arrays import AnyArray, Singles
from ropeval.errors import UserError, first_line
from ropeval.policies.inert.onnx_file import check_onnx
from ropeval.policies.policy import Policy, Space
from ropeval.policies.readers.policy_file import PolicyFile

ROWS = 1024  # at a time: what a graph may do with them is bounded by MAX_MEMORY
MAX_MEMORY = 256 * 2**20
MAX_SECONDS = 5.0  # for one call
INPUTS = {"tensor(float)": np.float32, "tensor(double)": np.float64}
OUTPUT_NAMES = ("action", "actions")


class OnnxPolicy(Policy):
    """a = graph(s). Exported with a batch size of 1 (as d3rlpy does) it is asked row by row, about 40 µs each."""

    deterministic = True

    def __init__(self, session: Any, name: str, sha256: str):
        self.name, self._session, self._sha256 = name, session, sha256
        self._input, self._type, self.observation_size, self._one_by_one = self._describe_input()
        outputs = [o.name for o in session.get_outputs()]
        if not outputs:
            raise UserError(f"policy {name}: its graph has no output; damaged?")
        self._output = next((o for o in outputs if o in OUTPUT_NAMES), outputs[0])
        answer = self._probe()
        self.discrete = answer.dtype.kind in "iu"
        if answer.shape[0] != 1 or answer.ndim > 2 or answer.size == 0 or answer.dtype.kind not in "fiu":
            raise UserError(
                f"policy {name}: for one observation its output {self._output} has shape {answer.shape} and type "
                f"{answer.dtype}; expected (1, A) floats, or (1,) integers for discrete actions"
            )
        if self.discrete and answer.size > 1:
            raise UserError(f"policy {name}: it gives {answer.size} integers per action; only one is read")
        self.action_size = None if self.discrete else answer.size
        self._check_rows_are_apart()

    def _check_rows_are_apart(self) -> None:
        """A graph may mix the rows of a batch (a mean over the wrong axis): its answers would depend on the batch."""
        if self._one_by_one:
            return
        rows = np.random.default_rng(0).standard_normal((3, self.observation_size or 1)).astype(np.float32)
        together, alone = self._run(rows), np.concatenate([self._run(row[None]) for row in rows])
        if together.shape != alone.shape or not np.allclose(together, alone, rtol=1e-3, atol=1e-5, equal_nan=True):
            raise UserError(
                f"policy {self.name}: it answers otherwise when asked about several observations at once, so that it "
                "is no function of the observation; export it with a batch size of 1"
            )

    def _describe_input(self) -> tuple[str, Any, int, bool]:
        inputs = self._session.get_inputs()
        if len(inputs) != 1:
            names = ", ".join(i.name[:30] for i in inputs) or "none"
            raise UserError(
                f"policy {self.name}: it takes {len(inputs)} inputs ({names}); expected one, the observations"
            )
        shape, kind = list(inputs[0].shape), inputs[0].type
        free = len(shape) == 2 and (shape[0] in (1, None) or isinstance(shape[0], str))  # a size that goes by a name
        if not free or not isinstance(shape[1], int) or shape[1] < 1:
            raise UserError(f"policy {self.name}: its input has shape {shape}; expected (any number, S) or (1, S)")
        if kind not in INPUTS:
            raise UserError(f"policy {self.name}: its input is {kind}; expected floats")
        return inputs[0].name, INPUTS[kind], shape[1], shape[0] == 1

    def check(self, space: Space) -> None:
        if space.discrete and not self.discrete:
            raise UserError(
                f"policy {self.name}: its actions are continuous, but the log's are discrete; if its output is a score "
                "per action, export the graph with an ArgMax at its end"
            )
        super().check(space)

    def _told(self, space: Space) -> "OnnxPolicy":
        if not self.discrete:
            return self
        told = copy.copy(self)
        told.action_size = space.action_size
        return told

    def sample(self, observations: Singles, rng: np.random.Generator) -> AnyArray:
        rows = 1 if self._one_by_one else ROWS
        parts = [self._run(observations[i : i + rows]) for i in range(0, len(observations), rows)]
        answer = np.concatenate(parts)
        return answer.reshape(len(observations)) if self.discrete and answer.size == len(observations) else answer

    def _probe(self) -> AnyArray:
        """The answer to one observation of zeros, under a watch: the same arithmetic is then done for every row."""
        import onnxruntime

        options = onnxruntime.RunOptions()
        watch = threading.Timer(MAX_SECONDS, setattr, (options, "terminate", True))
        watch.start()
        try:
            return self._run(np.zeros((1, self.observation_size or 1), np.float32), options)
        finally:
            watch.cancel()

    def _run(self, observations: AnyArray, options: Any = None) -> AnyArray:
        try:
            (answer,) = self._session.run([self._output], {self._input: observations.astype(self._type)}, options)
        except Exception as error:
            raise UserError(
                f"policy {self.name}: onnxruntime failed on observations of shape {observations.shape}, within "
                f"{MAX_SECONDS:g} s and {MAX_MEMORY // 2**20} MiB ({first_line(error)})"
            ) from error
        return np.atleast_1d(np.asarray(answer))

    @property
    def sha256(self) -> str:
        return self._sha256


@cache
def _bound_memory() -> None:
    """All sessions share one allocator that refuses to grow beyond the bound."""
    import onnxruntime as ort

    place = ort.OrtMemoryInfo("Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT)
    ort.create_and_register_allocator(place, ort.OrtArenaCfg({"max_mem": MAX_MEMORY, "arena_extend_strategy": 1}))


def _start(content: bytes) -> Any:
    import onnxruntime as ort

    _bound_memory()
    options = ort.SessionOptions()
    options.add_session_config_entry("session.use_env_allocators", "1")
    # Nothing is computed before it is asked.
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return ort.InferenceSession(content, options, providers=["CPUExecutionProvider"], enable_fallback=0)


def recognises(file: PolicyFile) -> bool:
    return file.archive is None and file.path.suffix == ".onnx"  # its first bytes say nothing


def read(file: PolicyFile) -> OnnxPolicy:
    file.refuse_modes_but(("mean",), "is deterministic, as every ONNX policy")
    check_onnx(file.content, file.where)
    try:
        return OnnxPolicy(_start(file.content), file.path.stem, hashlib.sha256(file.content).hexdigest())
    except UserError:
        raise
    except ImportError:
        raise UserError(f"{file.where}: ONNX needs onnxruntime; install it with: pip install 'ropeval[onnx]'") from None
    except Exception as error:  # onnxruntime's own classes, none of which it exports
        raise UserError(f"{file.where}: onnxruntime refuses it ({first_line(error)})") from error
