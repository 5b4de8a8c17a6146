"""ONNX models that are more than plain arithmetic, or damaged: refused by reason."""

import itertools

import numpy as np
import pytest

from ropeval.errors import UserError
from ropeval.policies import load_policy
from tests.fuzz.guard import guarded
from tests.policies.hostile import FILES, written

FLOAT, INT64 = 1, 7  # of onnx.proto


def field(number: int, value: bytes | int) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def model(
    *nodes: bytes,
    initializer: bytes | None = None,
    functions: bytes = b"",
    shape: tuple[int | bytes, ...] = (1, 3),
    inputs: tuple[bytes, ...] = (b"x",),
    kind: int = FLOAT,
) -> bytes:
    """A model with outputs of the inputs' shape, in protobuf's wire format."""
    sizes = field(2, b"".join(field(1, field(1 if isinstance(size, int) else 2, size)) for size in shape))
    values = {name: field(1, name) + field(2, field(1, field(1, kind) + sizes)) for name in (*inputs, b"y")}
    graph = b"".join(field(1, n) for n in nodes) + field(2, b"g")
    graph += field(5, initializer) if initializer else b""
    graph += b"".join(field(11, values[name]) for name in inputs) + field(12, values[b"y"])
    return field(1, 8) + field(7, graph) + field(8, field(1, b"") + field(2, 13)) + functions


def node(operator: bytes, inputs=(b"x",), outputs=(b"y",), domain=b"", attribute=b"") -> bytes:
    parts = [field(1, i) for i in inputs] + [field(2, o) for o in outputs] + [field(4, operator)]
    return b"".join(parts) + (field(7, domain) if domain else b"") + attribute


def doubling(times: int) -> list[bytes]:
    axis = field(5, field(1, b"axis") + field(3, 1) + field(20, 2))
    names = [b"x", *(f"y{i}".encode() for i in range(times - 1)), b"y"]
    return [node(b"Concat", (a, a), (b,), attribute=axis) for a, b in itertools.pairwise(names)]


HUGE = field(1, 1) + field(2, INT64) + field(7, 1 << 40)  # one number of 64 bits: as many floats as that
ONNX = {
    "a loop": (model(node(b"Loop")), "operator Loop"),
    "a tree of scikit-learn": (
        model(node(b"TreeEnsembleClassifier", domain=b"ai.onnx.ml")),
        "ai.onnx.ml.TreeEnsembleClassifier.*ask a model of scikit-learn in a function",
    ),
    "more memory than there is": (
        model(
            node(b"Constant", (), (b"n",), attribute=field(5, field(1, b"value") + field(5, HUGE) + field(20, 4))),
            node(b"ConstantOfShape", (b"n",), (b"y",)),
        ),
        "onnxruntime",
    ),
    "a random number": (model(node(b"RandomNormalLike")), "operator RandomNormalLike"),
    "an operator of a library": (model(node(b"Evil", domain=b"evil.ops")), "operator evil.ops.Evil"),
    "a known name of a library": (model(node(b"Relu", domain=b"com.microsoft")), "com.microsoft.Relu"),
    "a graph within the graph": (model(node(b"Relu", attribute=field(5, field(6, b"")))), "graph within its graph"),
    "functions": (model(node(b"Relu"), functions=field(25, b"")), "functions of its own"),
    "weights in another file": (
        model(
            node(b"Relu"), initializer=field(13, field(1, b"location") + field(2, b"../../etc/passwd")) + field(14, 1)
        ),
        "another file",
    ),
    "weights in another file, as a constant": (
        model(node(b"Constant", attribute=field(5, field(5, field(14, 1))))),
        "another file",
    ),
    "a batch of four": (model(node(b"Relu"), shape=(4, 3)), r"shape \[4, 3\]; expected \(any number, S\) or \(1, S\)"),
    "images": (model(node(b"Relu"), shape=(1, 3, 8, 8)), r"shape \[1, 3, 8, 8\]; expected"),
    "two inputs": (model(node(b"Add", (b"x", b"z")), inputs=(b"x", b"z")), r"takes 2 inputs \(x, z\); expected one"),
    "integers in": (model(node(b"Abs"), kind=INT64), "its input is tensor.int64.; expected floats"),
    "rows that depend on each other": (
        model(node(b"Softmax", attribute=field(5, field(1, b"axis") + field(3, 0) + field(20, 2))), shape=(b"n", 3)),
        "answers otherwise when asked about several observations at once",
    ),
    "a name that is no text": (model(node(b"Relu", (b"\xee",)), inputs=(b"\xee",)), "onnxruntime refuses it"),
    "no operators": (model(), "0 operators"),
    "many operators": (model(*[node(b"Relu")] * 2001), "2001 operators"),
    "growth without end": (model(*doubling(40)), "onnxruntime"),
    "very many empty fields": (b"\x08\x00" * 200_001, "more than 200,000 fields"),
    "a length beyond the end": (b"\x3a\xff\xff\xff\xff\x0f", "no ONNX model"),
    "a number without end": (b"\xff" * 20, "no ONNX model"),
    "text": (b"hello, world", "no ONNX model"),
    "a name that leads nowhere": (model(node(b"Relu", inputs=(b"elsewhere",))), "onnxruntime refuses it"),
}


@pytest.mark.parametrize("what", ONNX)
def test_onnx_models_are_refused_by_reason(tmp_path, what):
    runtime = pytest.importorskip("onnxruntime", reason="the onnx extra is not installed")
    load_policy(FILES / "free_batch.onnx")  # onnxruntime's own set-up is not what is watched
    assert runtime
    content, match = ONNX[what]
    path = written(tmp_path, content, "policy.onnx")
    with guarded(), pytest.raises(UserError, match=match):
        load_policy(path)


def test_a_plain_onnx_model_made_by_hand_loads(tmp_path):
    pytest.importorskip("onnxruntime", reason="the onnx extra is not installed")
    policy = load_policy(written(tmp_path, model(node(b"Relu")), "policy.onnx"))
    observations = np.float32([[1, -2, 3]])
    np.testing.assert_array_equal(policy.sample(observations, np.random.default_rng(0)), [[1, 0, 3]])
