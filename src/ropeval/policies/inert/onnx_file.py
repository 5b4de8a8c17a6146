"""ONNX files looked over before anything runs them: plain arithmetic only, all of it inside the file.

ONNX is a graph in protobuf's wire format. A graph can loop, draw random numbers, name other files as its weights and
call operators from libraries; a policy's network does none of that. So every operator is checked against a list,
subgraphs and references to other files are refused, and what remains is a fixed amount of arithmetic on the weights.
"""

from collections.abc import Iterator

from ropeval.errors import UserError

MAX_NODES = 2_000
OPERATORS = {
    "Abs", "Add", "ArgMax", "BatchNormalization", "Cast", "Clip", "Concat", "Constant", "Div", "Dropout", "Elu",
    "Erf", "Exp", "Flatten", "Gather", "Gelu", "Gemm", "HardSigmoid", "Identity", "LayerNormalization", "LeakyRelu",
    "Log", "LogSoftmax", "MatMul", "Max", "Min", "Mul", "Neg", "PRelu", "Pow", "Reciprocal", "ReduceMax",
    "ReduceMean", "ReduceMin", "ReduceSum", "Relu", "Reshape", "Selu", "Shape", "Sigmoid", "Slice", "Softmax",
    "Softplus", "Softsign", "Split", "Sqrt", "Squeeze", "Sub", "Sum", "Tanh", "Transpose", "Unsqueeze", "Where",
}  # fmt: skip
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
Fields = Iterator[tuple[int, int | bytes]]

# Field numbers of onnx.proto that matter here.
MODEL_GRAPH, MODEL_FUNCTIONS = 7, 25
GRAPH_NODE, GRAPH_INITIALIZER, GRAPH_SPARSE = 1, 5, 15
NODE_ATTRIBUTE, NODE_OPERATOR, NODE_DOMAIN = 5, 4, 7
ATTRIBUTE_TENSOR, ATTRIBUTE_GRAPH, ATTRIBUTE_TENSORS, ATTRIBUTE_GRAPHS, ATTRIBUTE_SPARSE = 5, 6, 10, 11, (22, 23)
TENSOR_EXTERNAL, TENSOR_LOCATION = 13, 14


def check_onnx(content: bytes, where: str) -> None:
    """Refuse anything but a plain graph of known operators with its weights inside."""
    graphs = []
    for field, value in _fields(content, where):
        if field == MODEL_FUNCTIONS:
            raise UserError(f"{where}: it defines functions of its own; only plain graphs are run")
        if field == MODEL_GRAPH:
            graphs.append(_message(value, where))
    if len(graphs) != 1:
        raise UserError(f"{where}: this is no ONNX model (it has {len(graphs)} graphs); damaged, or another format?")
    nodes = 0
    for field, value in _fields(graphs[0], where):
        if field == GRAPH_NODE:
            nodes += 1
            _check_node(_message(value, where), where)
        elif field == GRAPH_INITIALIZER:
            _check_tensor(_message(value, where), where)
        elif field == GRAPH_SPARSE:
            raise UserError(f"{where}: it has sparse weights, which are not read")
    if not 0 < nodes <= MAX_NODES:
        raise UserError(f"{where}: its graph has {nodes} operators; a policy has a few dozen")


def _check_node(content: bytes, where: str) -> None:
    operator, domain = "", ""
    for field, value in _fields(content, where):
        if field == NODE_OPERATOR:
            operator = _text(value, where)
        elif field == NODE_DOMAIN:
            domain = _text(value, where)
        elif field == NODE_ATTRIBUTE:
            _check_attribute(_message(value, where), where)
    if operator not in OPERATORS or domain not in ("", "ai.onnx"):
        shown = f"{domain}.{operator}" if domain else operator
        raise UserError(
            f"{where}: it uses the operator {ascii(shown[:60])[1:-1]}; only plain, deterministic arithmetic is run "
            "(no loops, no random numbers, no operators of other libraries)"
        )


def _check_attribute(content: bytes, where: str) -> None:
    for field, value in _fields(content, where):
        if field in (ATTRIBUTE_GRAPH, ATTRIBUTE_GRAPHS):
            raise UserError(f"{where}: it has a graph within its graph (a loop or a branch); only plain graphs are run")
        if field in ATTRIBUTE_SPARSE:
            raise UserError(f"{where}: it has sparse weights, which are not read")
        if field in (ATTRIBUTE_TENSOR, ATTRIBUTE_TENSORS):
            _check_tensor(_message(value, where), where)


def _check_tensor(content: bytes, where: str) -> None:
    for field, value in _fields(content, where):
        if field == TENSOR_EXTERNAL or (field == TENSOR_LOCATION and value != 0):
            raise UserError(
                f"{where}: its weights lie in another file, which is not followed; export it with the weights inside"
            )


# --- protobuf's wire format -----------------------------------------------------------------------------------------


def _fields(content: bytes, where: str) -> Fields:
    """(number, value) of every field of a message; lengths are believed only as far as the bytes are there."""
    at = 0
    while at < len(content):
        key, at = _varint(content, at, where)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            value, at = _varint(content, at, where)
            yield number, value
            continue
        if kind == BYTES:
            length, at = _varint(content, at, where)
        elif kind in (FIXED64, FIXED32):
            length = 8 if kind == FIXED64 else 4
        else:
            raise _damaged(where)
        if length > len(content) - at or number == 0:
            raise _damaged(where)
        yield number, content[at : at + length]
        at += length


def _varint(content: bytes, at: int, where: str) -> tuple[int, int]:
    value = 0
    for place in range(10):
        if at >= len(content):
            raise _damaged(where)
        byte = content[at]
        at += 1
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, at
    raise _damaged(where)


def _message(value: int | bytes, where: str) -> bytes:
    if isinstance(value, int):
        raise _damaged(where)
    return value


def _text(value: int | bytes, where: str) -> str:
    return _message(value, where).decode("utf-8", errors="replace")


def _damaged(where: str) -> UserError:
    return UserError(f"{where}: this is no ONNX model, or it is cut short or damaged")
