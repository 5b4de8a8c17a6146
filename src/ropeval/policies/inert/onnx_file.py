"""ONNX files looked over before anything runs them: plain arithmetic only, all of it inside the file.

ONNX is a graph in protobuf's wire format. A graph can loop, draw random numbers, name other files as its weights and
call operators from libraries; a policy's network does none of that. So every operator is checked against a list,
subgraphs and references to other files are refused, and what remains is a fixed amount of arithmetic on the weights.
"""

from collections.abc import Iterator

from ropeval.errors import UserError

MAX_NODES = 2_000
MAX_FIELDS = 200_000
OPERATORS = {
    "Abs", "Add", "ArgMax", "BatchNormalization", "Cast", "Clip", "Concat", "Constant", "ConstantOfShape", "Div",
    "Dropout", "Elu", "Erf", "Exp", "Expand", "Flatten", "Gather", "GatherElements", "Gelu", "Gemm", "HardSigmoid",
    "Identity", "LayerNormalization", "LeakyRelu", "Log", "LogSoftmax", "MatMul", "Max", "Min", "Mul", "Neg", "PRelu",
    "Pow", "Reciprocal", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum", "Relu", "Reshape",
    "Selu", "Shape", "Sigmoid", "Slice", "Softmax", "Softplus", "Softsign", "Split", "Sqrt", "Squeeze", "Sub", "Sum",
    "Tanh", "Transpose", "Unsqueeze", "Where",
}  # fmt: skip
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

# Field numbers of onnx.proto that matter here.
MODEL_GRAPH, MODEL_FUNCTIONS = 7, 25
GRAPH_NODE, GRAPH_INITIALIZER, GRAPH_SPARSE = 1, 5, 15
NODE_ATTRIBUTE, NODE_OPERATOR, NODE_DOMAIN = 5, 4, 7
ATTRIBUTE_TENSOR, ATTRIBUTE_GRAPH, ATTRIBUTE_TENSORS, ATTRIBUTE_GRAPHS, ATTRIBUTE_SPARSE = 5, 6, 10, 11, (22, 23)
TENSOR_EXTERNAL, TENSOR_LOCATION = 13, 14


def check_onnx(content: bytes, where: str) -> None:
    """Refuse anything but a plain graph of known operators with its weights inside."""
    _Inspection(where).model(content)


class _Inspection:
    """One walk through a model. `left` bounds its length: a file can hold a hundred million empty fields."""

    def __init__(self, where: str):
        self.where, self.left = where, MAX_FIELDS

    def model(self, content: bytes) -> None:
        graphs = []
        for field, value in self.fields(content):
            if field == MODEL_FUNCTIONS:
                raise UserError(f"{self.where}: it defines functions of its own; only plain graphs are run")
            if field == MODEL_GRAPH:
                graphs.append(self.message(value))
        if len(graphs) != 1:
            found = f"it has {len(graphs)} graphs"
            raise UserError(f"{self.where}: this is no ONNX model ({found}); damaged, or another format?")
        self.graph(graphs[0])

    def graph(self, content: bytes) -> None:
        nodes = 0
        for field, value in self.fields(content):
            if field == GRAPH_NODE:
                nodes += 1
                self.node(self.message(value))
            elif field == GRAPH_INITIALIZER:
                self.tensor(self.message(value))
            elif field == GRAPH_SPARSE:
                raise UserError(f"{self.where}: it has sparse weights, which are not read")
        if not 0 < nodes <= MAX_NODES:
            raise UserError(f"{self.where}: its graph has {nodes} operators; a policy has a few dozen")

    def node(self, content: bytes) -> None:
        operator, domain = "", ""
        for field, value in self.fields(content):
            if field == NODE_OPERATOR:
                operator = self.text(value)
            elif field == NODE_DOMAIN:
                domain = self.text(value)
            elif field == NODE_ATTRIBUTE:
                self.attribute(self.message(value))
        if operator not in OPERATORS or domain not in ("", "ai.onnx"):
            shown = f"{domain}.{operator}" if domain else operator
            function = (
                "; ask a model of scikit-learn in a function: docs/start/formats.md" if "onnx.ml" in domain else ""
            )
            raise UserError(
                f"{self.where}: it uses the operator {ascii(shown[:60])[1:-1]}; only plain, deterministic arithmetic "
                f"is run (no loops, no random numbers, no operators of other libraries){function}"
            )

    def attribute(self, content: bytes) -> None:
        for field, value in self.fields(content):
            if field in (ATTRIBUTE_GRAPH, ATTRIBUTE_GRAPHS):
                raise UserError(
                    f"{self.where}: it has a graph within its graph (a loop or a branch); only plain graphs are run"
                )
            if field in ATTRIBUTE_SPARSE:
                raise UserError(f"{self.where}: it has sparse weights, which are not read")
            if field in (ATTRIBUTE_TENSOR, ATTRIBUTE_TENSORS):
                self.tensor(self.message(value))

    def tensor(self, content: bytes) -> None:
        for field, value in self.fields(content):
            if field == TENSOR_EXTERNAL or (field == TENSOR_LOCATION and value != 0):
                raise UserError(
                    f"{self.where}: its weights lie in another file, which is not followed; export it with the weights "
                    "inside (torch.onnx.export: external_data=False)"
                )

    # --- protobuf's wire format

    def fields(self, content: bytes) -> Iterator[tuple[int, int | bytes]]:
        """(number, value) of every field of a message; lengths are believed only as far as the bytes are there."""
        at = 0
        while at < len(content):
            self.left -= 1
            if self.left < 0:
                raise UserError(f"{self.where}: it has more than {MAX_FIELDS:,} fields; no policy has that many")
            key, at = self.varint(content, at)
            number, kind = key >> 3, key & 7
            if kind == VARINT:
                value, at = self.varint(content, at)
                yield number, value
                continue
            if kind == BYTES:
                length, at = self.varint(content, at)
            elif kind in (FIXED64, FIXED32):
                length = 8 if kind == FIXED64 else 4
            else:
                raise self.damaged()
            if length > len(content) - at or number == 0:
                raise self.damaged()
            yield number, content[at : at + length]
            at += length

    def varint(self, content: bytes, at: int) -> tuple[int, int]:
        value = 0
        for place in range(10):
            if at >= len(content):
                break
            byte = content[at]
            at += 1
            value |= (byte & 0x7F) << (7 * place)
            if byte < 0x80:
                return value, at
        raise self.damaged()

    def message(self, value: int | bytes) -> bytes:
        if isinstance(value, int):
            raise self.damaged()
        return value

    def text(self, value: int | bytes) -> str:
        return self.message(value).decode("utf-8", errors="replace")

    def damaged(self) -> UserError:
        return UserError(f"{self.where}: this is no ONNX model, or it is cut short or damaged")
