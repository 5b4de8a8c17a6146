"""What a new user gets wrong, for each format of policy, and what they are told: one line that says what to do."""

import io
import json
import pickle
import re
import struct
import zipfile
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from ropeval.data import Dataset, make_problem
from ropeval.errors import UserError
from ropeval.policies import load_policy
from tests.policies.hostile import FILES, members, packed
from tests.policies.test_hostile_archives import with_data, with_tensors
from tests.policies.test_readers import deep_ope


def told(spec, log=None) -> str:
    """The message for a policy that is read and then put to a log."""

    def try_it() -> None:
        policy = load_policy(spec)
        if log is not None:
            make_problem(log, policy, 0.9)

    with pytest.raises(UserError) as caught:
        try_it()
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(("policy ", "statistics "))
    return message


@pytest.fixture
def logs(columns):
    """One log of every kind that a policy may be wrong for; observations of size 3."""
    wide = columns | {k: np.hstack([columns[k]] * 2) for k in ("observations", "next_observations")}
    return {
        "continuous": Dataset.from_columns(columns),
        "discrete": Dataset.from_columns(columns | {"actions": np.arange(12) % 4}),
        "more_actions": Dataset.from_columns(columns | {"actions": np.arange(12) % 6}),
        "wide": Dataset.from_columns(wide),
        "one_action": Dataset.from_columns(columns | {"actions": columns["actions"][:, :1]}),
    }


def edited(tmp_path: Path, name: str, change) -> Path:
    content = members(FILES / name)
    change(content)
    path = tmp_path / "policy.zip"
    path.write_bytes(packed(content))
    return path


def renamed_tensor(old: str, new: str):
    """Another name of the same length: what the file describes, without the file of a network of another kind."""
    assert len(old) == len(new)

    def change(inner):
        inner["archive/data.pkl"] = inner["archive/data.pkl"].replace(old.encode(), new.encode())

    return with_tensors(change)


def torch_script(content):
    content.clear()
    content.update({"policy/code/x.py": b"", "policy/data.pkl": b""})


def policy_class(module: str):
    return with_data(lambda fields: fields["policy_class"].update(__module__=module))


def kwargs(**options):
    return with_data(lambda fields: fields["policy_kwargs"].update(options))


STABLE_BASELINES = {
    "integer actions in a continuous policy": (
        "ppo.zip",
        None,
        "discrete",
        "its actions are continuous, but the log's are",
    ),
    "a discrete policy on continuous actions": (
        "dqn.zip",
        None,
        "continuous",
        "its actions are discrete, but the log's",
    ),
    "too few discrete actions": (
        "ppo_discrete.zip",
        None,
        "more_actions",
        "it has 4 discrete actions, but the log has 6",
    ),
    "observations of another task": (
        "sac.zip",
        None,
        "wide",
        "takes observations of size 3, but the log's have size 6",
    ),
    "actions of another task": ("td3.zip", None, "one_action", "has 2 numbers per action, but the log has 1"),
    "trained under VecNormalize, statistics forgotten": (
        "ppo_normalised.zip",
        lambda c: None,
        None,
        r"\+vecnormalize.pkl",
    ),
    "use_sde": ("sac_sde.zip", lambda c: None, None, "use_sde=True.*export it to ONNX"),
    "a convolutional policy": (
        "ppo.zip",
        renamed_tensor("mlp_extractor.policy_net.0.weight", "features_extractor.cnn.0.weightxx"),
        None,
        r"CnnPolicy.*export it to ONNX",
    ),
    "a recurrent policy": (
        "ppo.zip",
        renamed_tensor("mlp_extractor.value_net.0.weight", "lstm_actor.weight_ih_l0xxxxxxxxx"),
        None,
        "LSTM.*more than the observation",
    ),
    "a policy class of one's own": (
        "ppo.zip",
        policy_class("my_project.nets"),
        None,
        "my_project.nets, not from Stable",
    ),
    "an activation of one's own": (
        "sac_tanh.zip",
        kwargs(activation_fn="<class 'mine.Swish'>"),
        None,
        "activation function is <class 'mine.Swish'>; known are torch's relu, tanh",
    ),
    "only the weights inside": ("sac.zip", lambda c: c.pop("data"), None, "expected data and policy.pth"),
    "zipped with its folder": (
        "sac.zip",
        lambda c: [c.update({f"model/{name}": c.pop(name)}) for name in list(c)],
        None,
        "in a folder inside the zip; zip the files themselves",
    ),
    "TorchScript": ("sac.zip", torch_script, None, "TorchScript.*export the policy to ONNX"),
}


@pytest.mark.parametrize("mistake", STABLE_BASELINES)
def test_stable_baselines3(mistake, tmp_path, logs):
    name, change, log, match = STABLE_BASELINES[mistake]
    path = FILES / name if change is None else edited(tmp_path, name, change)
    message = told(path, logs.get(log))
    assert re.search(match, message), message


def test_stable_baselines3_given_something_beside_it(tmp_path, logs):
    statistics = FILES / "vecnormalize.pkl"
    assert "was trained on raw observations" in told(f"{FILES / 'ppo.zip'}+{statistics}")
    assert "no such file" in told(f"{FILES / 'ppo.zip'}+{tmp_path / 'absent.pkl'}")
    assert "expected what VecNormalize.save writes" in told(f"{FILES / 'sac.zip'}+{_pickled(tmp_path, {'mean': 1})}")
    assert "not a policy; give them with the policy, as POLICY.zip+vecnormalize.pkl" in told(statistics)
    np.savez(tmp_path / "s.npz", average=np.zeros(3), var=np.ones(3))
    assert "expected arrays mean and var" in told(f"{FILES / 'sac.zip'}+{tmp_path / 's.npz'}")
    np.savez(tmp_path / "s.npz", mean=np.zeros(7), var=np.ones(7))
    assert "statistics given with it are of 7 numbers" in told(f"{FILES / 'sac.zip'}+{tmp_path / 's.npz'}")
    np.savez(tmp_path / "s.npz", mean=np.zeros(3), var=-np.ones(3))
    assert "no variance" in told(f"{FILES / 'sac.zip'}+{tmp_path / 's.npz'}")


@pytest.mark.parametrize(
    ("spec", "match"),
    [
        ("td3.zip@stochastic", "is deterministic, so that @stochastic means nothing here; leave it out"),
        ("dqn.zip@offset", "deterministic"),
        ("ppo.zip@offset", "@offset means nothing here"),
        ("free_batch.onnx@stochastic", "it is deterministic, as every ONNX policy"),
        ("sac.zip@greedy", "unknown action mode 'greedy'; choose from: stochastic, mean, offset"),
    ],
)
def test_modes_that_mean_nothing(spec, match):
    assert match in told(f"{FILES / spec}")


def _pickled(tmp_path, value, name="policy.pkl"):
    path = tmp_path / name
    path.write_bytes(value if isinstance(value, bytes) else pickle.dumps(value))
    return path


DEEP_OPE = {
    "a weight is missing": ({"fc1/bias": None}, "missing fc1/bias"),
    "no output layer": ({"last_fc/weight": None}, "missing last_fc/weight"),
    "weights the other way round": ({"fc0/weight": np.ones((3, 8), np.float32)}, "layer 0 has weight"),
    "integer weights": ({"fc0/weight": np.ones((8, 3), np.int64)}, "not floating-point"),
    "text instead of weights": ({"fc0/weight": "abc"}, "missing fc0/weight"),
    "weights that are not finite": ({"fc0/bias": np.full(8, np.nan, np.float32)}, "training diverged"),
    "an unknown activation": ({"nonlinearity": "swish"}, "nonlinearity is text 'swish'; known are relu, tanh"),
    "an unknown output": ({"output_distribution": "beta"}, "known are tanh_gaussian, gaussian"),
    "lists instead of arrays": ({"fc0/weight": [[1.0, 2.0]]}, "missing fc0/weight"),
    "an object array": ({"fc0/weight": np.array([None, 1])}, "type 'O8'"),
}


@pytest.mark.parametrize("mistake", DEEP_OPE)
def test_deep_ope(mistake, tmp_path):
    changes, match = DEEP_OPE[mistake]
    assert match in told(_pickled(tmp_path, deep_ope(**changes)[1]))


def test_pickles_of_something_else(tmp_path, logs):
    assert "expected a dict of weights" in told(_pickled(tmp_path, [1, 2]))
    assert "unknown layout; expected fc0/weight" in told(_pickled(tmp_path, {"weights": 1}))
    assert "asks for fractions.Fraction" in told(_pickled(tmp_path, {"x": Fraction(1, 2)}))
    assert "size 3, but the log's have size 6" in told(_pickled(tmp_path, deep_ope()[1]), logs["wide"])
    assert "its actions are continuous" in told(_pickled(tmp_path, deep_ope()[1]), logs["discrete"])


def _written(tmp_path, content, name):
    path = tmp_path / name
    path.write_bytes(content)
    return path


def _torch_file() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("model/data.pkl", b"\x80\x02}.")
        file.writestr("model/data/0", b"")
    return buffer.getvalue()


OTHER_FILES = {
    "a torch file": ("policy.pt", _torch_file(), "weights without the architecture; save the whole model"),
    "an old torch file": ("policy.pth", b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.", "expected a dict of weights"),
    "a d3rlpy file": ("model.d3", b"d3rlpy", "save the whole model"),
    "HDF5": ("model.h5", b"\x89HDF\r\n\x1a\n", "The log comes first"),
    "Parquet": ("log.parquet", b"PAR1" + b"\0" * 20, "The log comes first"),
    "a single array": ("policy.npy", b"\x93NUMPY\1\0" + struct.pack("<H", 2) + b"{}", "single array"),
    "an empty file": ("policy.zip", b"", "the file is empty"),
    "a page that says that it was not found": ("policy.zip", b"<html>404</html>", "cannot be read as a zip archive"),
    "an .npz cut short": ("policy.npz", b"PK\x03\x04" + b"\0" * 40, "list of members is missing"),
    "a Python file": ("my_policy.py", b"def act(observations): ...", "give my_policy:NAME, not the file"),
    "JSON": ("params.json", json.dumps({}).encode(), "unknown format; give Stable-Baselines3 .zip, .npz"),
    "a zip of something else": ("x.zip", packed({"readme.txt": b"hello"}), "found readme.txt"),
    "an empty zip": ("x.zip", packed({}), "empty or damaged"),
    "a single array in a zip": ("x.npz", packed({"x.npy": b""}), "its header is no array's"),
}


@pytest.mark.parametrize("mistake", OTHER_FILES)
def test_other_files(mistake, tmp_path):
    name, content, match = OTHER_FILES[mistake]
    assert match in told(_written(tmp_path, content, name))


NPZ = {
    "a bias is missing": ({"fc1_b": None}, "missing fc1_b"),
    "no output layer": ({"mean_w": None}, "missing mean_w"),
    "no standard deviation": ({"logstd_w": None}, "missing logstd_w"),
    "weights the other way round": ({"fc0_w": np.ones((3, 8), np.float32)}, "layer 0 has weight (3, 8)"),
    "integer weights": ({"fc0_w": np.ones((8, 3), np.int64)}, "fc0_w holds int64, not floating-point weights"),
    "weights that are not finite": ({"fc0_b": np.full(8, np.inf, np.float32)}, "the training diverged?"),
    "one bound of two": ({"action_low": -np.ones(2, np.float32)}, "action_low and action_high must both be floats"),
    "bounds the other way round": (
        {"action_low": np.ones(2, np.float32), "action_high": -np.ones(2, np.float32)},
        "its lowest action [1. 1.] is not below its highest [-1. -1.] everywhere",
    ),
    "names of one's own": ({"fc0_w": None, "weights": np.ones(3)}, "unknown layout; expected fc0_w… (deep_ope)"),
    "the log": ({"fc0_w": None, "observations": np.ones((9, 3)), "rewards": np.ones(9)}, "this is a log"),
    "an object array": ({"fc0_w": np.array([None, 1])}, "expected plain numbers (nothing is unpickled)"),
    "a mode that is none": ({"mode": np.array("greedy")}, "its field mode is 'greedy'"),
}


@pytest.mark.parametrize("mistake", NPZ)
def test_npz(mistake, tmp_path):
    changes, match = NPZ[mistake]
    names = {"weight": "w", "bias": "b", "last_fc": "mean", "last_fc_log_std": "logstd"}
    content, _ = deep_ope()
    arrays = {
        "_".join(names.get(part, part) for part in name.split("/")): value
        for name, value in content.items()
        if isinstance(value, np.ndarray)
    }
    np.savez(tmp_path / "policy.npz", **{k: v for k, v in (arrays | changes).items() if v is not None})
    assert match in told(tmp_path / "policy.npz")


def test_folders(tmp_path):
    assert "this is a folder" in told(tmp_path)
    (tmp_path / "policy.pth").touch()
    assert "unpacked Stable-Baselines3 zip; give the .zip itself" in told(tmp_path)
    model = tmp_path / "tensorflow"
    model.mkdir()
    (model / "saved_model.pb").touch()
    assert "SavedModel" in told(model)
    log = tmp_path / "log"
    (log / "data").mkdir(parents=True)
    assert "looks like a log" in told(log)


def test_onnx(tmp_path, logs):
    pytest.importorskip("onnxruntime", reason="the onnx extra is not installed")
    assert "export the graph with an ArgMax" in told(FILES / "free_batch.onnx", logs["discrete"])
    assert "its actions are discrete" in told(FILES / "d3rlpy_dqn.onnx", logs["continuous"])
    assert "size 3, but the log's have size 6" in told(FILES / "free_batch.onnx", logs["wide"])
    assert "2 numbers per action, but the log has 1" in told(FILES / "free_batch.onnx", logs["one_action"])
    assert "no ONNX model" in told(_written(tmp_path, (FILES / "sac.zip").read_bytes()[10:], "policy.onnx"))
    whole = (FILES / "free_batch.onnx").read_bytes()
    assert "cut short or damaged" in told(_written(tmp_path, whole[:300], "policy.onnx"))
    noisy = whole.replace(b"Sigmoid", b"Dropper")
    assert "uses the operator Dropper" in told(_written(tmp_path, noisy, "policy.onnx"))


@pytest.mark.parametrize(
    ("spec", "match"),
    [
        ("absent.zip", "no such file"),
        ("absent.onnx", "no such file"),
        ("./mine:act", "no such file"),
        ("no_such_module:act", "cannot import it"),
        ("json:absent", "cannot import it"),
        ("json:JSONDecoder", "neither a function nor a Policy"),
        ("json:dumps", None),
        ("uniform:1", "expected uniform:LOW,HIGH"),
        ("Uniform", "no such file"),
    ],
)
def test_words(spec, match, logs):
    message = told(spec, logs["continuous"])
    assert match is None or match in message
