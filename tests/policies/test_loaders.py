"""From a word on the command line to a policy; what is handed over instead, and what its user is told."""

import io
import json
import pickle
import re
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from ropeval.errors import UserError
from ropeval.policies import UniformPolicy, load_policy
from ropeval.policies.readers import FORMATS, WORDS
from ropeval.policies.readers.policy_file import PolicyFile
from tests.policies.hostile import FILES, packed, told, written
from tests.policies.samples import arrays, save, written_deep_ope
from tests.policies.torch_files import state_dict, torch_save


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("absent.npz", "no such file"),
        ("nonsense", "no such file"),
        ("uniform:a,b", "expected uniform:LOW,HIGH"),
        ("no.such.module:f", "cannot import"),
    ],
)
def test_bad_names_are_refused(spec, message):
    with pytest.raises(UserError, match=message):
        load_policy(spec)


def test_an_unknown_mode_lists_the_modes(tmp_path):
    path = save(tmp_path, arrays())
    with pytest.raises(UserError, match="stochastic, mean, offset"):
        load_policy(f"{path}@greedy")


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


def _torch_file() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("model/data.pkl", b"\x80\x02}.")
        file.writestr("model/data/0", b"")
    return buffer.getvalue()


OTHER_FILES = {
    "a torch file": ("policy.pt", _torch_file(), "weights without the architecture; export it: torch.onnx.export("),
    "a CleanRL file under another name": ("ppo.pth", _torch_file(), "give it the ending .cleanrl_model"),
    "a whole d3rlpy file": ("model.d3", _torch_file(), 'algo.save_policy("policy.onnx"), and give policy.onnx'),
    "a file of jax.export": ("policy.jax", b"\x20\0\0\0", "wrap it in a Python function"),
    "an old torch file": ("policy.pth", b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.", "before version 1.6"),
    "a d3rlpy file": ("model.d3", pickle.dumps({"torch": b"", "config": "", "version": "2.8.1"}), "d3rlpy's own file"),
    "HDF5": ("model.h5", b"\x89HDF\r\n\x1a\n", "The log comes first"),
    "Parquet": ("log.parquet", b"PAR1" + b"\0" * 20, "The log comes first"),
    "a single array": ("policy.npy", b"\x93NUMPY\1\0" + struct.pack("<H", 2) + b"{}", "single array"),
    "an empty file": ("policy.zip", b"", "the file is empty"),
    "a page that says that it was not found": ("policy.zip", b"<html>404</html>", "cannot be read as a zip archive"),
    "an .npz cut short": ("policy.npz", b"PK\x03\x04" + b"\0" * 40, "list of members is missing"),
    "a Python file": ("my_policy.py", b"def act(observations): ...", "my_policy.py:NAME"),
    "JSON": ("params.json", json.dumps({}).encode(), "unknown format; give Stable-Baselines3 .zip, CleanRL"),
    "a zip of something else": ("x.zip", packed({"readme.txt": b"hello"}), "found readme.txt"),
    "a table": ("x.csv", b"observation,action,reward\n1,0,0\n", "a log? The log comes first"),
    "an empty zip": ("x.zip", packed({}), "empty or damaged"),
    "a single array in a zip": ("x.npz", packed({"x.npy": b""}), "its header is no array's"),
}


@pytest.mark.parametrize("mistake", OTHER_FILES)
def test_other_files(mistake, tmp_path):
    name, content, match = OTHER_FILES[mistake]
    assert match in told(written(tmp_path, content, name))


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
    columns = tmp_path / "columns"
    columns.mkdir()
    (columns / "columns.json").touch()
    assert "looks like a log" in told(columns)


def test_a_folder_of_policies_says_what_to_give(tmp_path):
    (tmp_path / "b.npz").touch()
    assert told(tmp_path).endswith(f"give them: {tmp_path / 'b.npz'}")
    (tmp_path / "a.zip").touch()
    (tmp_path / "c.onnx").touch()
    assert told(tmp_path).endswith(f"give them: {tmp_path / 'a.zip'} {tmp_path / 'b.npz'} …")


@pytest.mark.parametrize(
    ("spec", "match"),
    [
        ("absent.zip", "no such file"),
        ("absent.onnx", "no such file"),
        ("./mine:act", "no such file"),
        ("no_such_module:act", "cannot import it"),
        ("json:absent", "cannot import it"),
        ("mine.py:act", "there is no file mine.py"),
        ("./some/where/mine.py:act", "there is no file ./some/where/mine.py"),
        ("json:JSONDecoder", "neither a function nor a Policy"),
        ("json:dumps", None),
        ("uniform:1", "expected uniform:LOW,HIGH"),
        ("Uniform", "no such file"),
    ],
)
def test_words(spec, match, logs):
    message = told(spec, logs["continuous"])
    assert match is None or match in message


@pytest.mark.parametrize("start", ["", "./", "/"])
def test_a_function_may_be_named_by_its_file(tmp_path, monkeypatch, start):
    monkeypatch.chdir(tmp_path)
    observations, rng = np.ones((3, 2), np.float32), np.random.default_rng(0)
    for half, folder in enumerate(("old", "new")):  # two files of one name
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "json.py").write_text(
            f"from rules_{folder} import value\ndef act(o): return o[:, :1] * value"
        )
        (tmp_path / folder / f"rules_{folder}.py").write_text(f"value = {half / 2}")
    for half, folder in enumerate(("old", "new")):
        where = f"{tmp_path if start == '/' else ''}{start}{folder}/json.py"
        policy = load_policy(f"mine={where}:act")
        assert policy.name == "mine"
        np.testing.assert_array_equal(policy.sample(observations, rng), np.full((3, 1), half / 2))
    assert json.loads("1") == 1  # Python's own is still there


def test_a_file_that_has_no_such_function(tmp_path):
    (tmp_path / "broken.py").write_text("1 / 0")
    assert "its module failed: ZeroDivisionError" in told(f"{tmp_path / 'broken.py'}:act")
    (tmp_path / "reading.py").write_text("open('weights.npy')")  # not the file that was named
    assert "its module failed: FileNotFoundError" in told(f"{tmp_path / 'reading.py'}:act")
    (tmp_path / "typed.py").write_text("def act(")
    assert "its module failed: SyntaxError" in told(f"{tmp_path / 'typed.py'}:act")
    (tmp_path / "lacking.py").write_text("import nobody_has_this")
    assert "cannot import it (No module named 'nobody_has_this')" in told(f"{tmp_path / 'lacking.py'}:act")
    (tmp_path / "good.py").write_text("act = 1")
    assert "has no attribute 'absent'" in told(f"{tmp_path / 'good.py'}:absent")
    assert "neither a function" in told(f"{tmp_path / 'good.py'}:act")


def still(observations):
    return np.zeros((len(observations), 2))


def noisy(observations, rng):
    return rng.uniform(-1, 1, (len(observations), 2))


def test_words_have_no_modes_but_their_own():
    here = "tests.policies.test_loaders"
    assert "it draws every action alike, so that @mean means nothing here" in told("uniform@mean")
    assert "@offset means nothing here" in told("uniform:-1,1@offset")
    assert "it is code, and stochastic, so that @mean means nothing here; leave it out" in told(f"{here}:noisy@mean")
    assert "it is code, and deterministic, so that @stochastic" in told(f"{here}:still@stochastic")
    assert load_policy(f"{here}:still@mean").deterministic
    assert not load_policy("uniform@stochastic").deterministic


def test_uniform_is_a_word_even_where_a_folder_has_its_name(tmp_path, monkeypatch):
    (tmp_path / "uniform").mkdir()
    monkeypatch.chdir(tmp_path)
    assert isinstance(load_policy("uniform"), UniformPolicy)


# --- the registry ---------------------------------------------------------------------------------------------------


def test_every_format_is_recognised_by_its_own_reader_alone(tmp_path):
    examples = {
        ".npz": save(tmp_path, arrays()),
        "Stable-Baselines3 .zip": FILES / "sac.zip",
        "deep_ope .pkl": written_deep_ope(tmp_path),
        ".onnx": FILES / "free_batch.onnx",
        "CleanRL .cleanrl_model": torch_save(tmp_path / "ppo.cleanrl_model", state_dict(actor__0__weight=np.eye(2))),
    }
    assert set(examples) == {known.name for known in FORMATS}
    for name, path in examples.items():
        file = PolicyFile.open(path, None, False)
        assert [known.name for known in FORMATS if known.reader.recognises(file)] == [name]
        assert path.suffix in next(known.extensions for known in FORMATS if known.name == name)


def test_the_page_on_formats_has_a_row_for_each():
    page = Path(__file__).resolve().parents[2] / "docs" / "start" / "formats.md"
    rows = re.search(r"\| POLICY \|.*?\n\n", page.read_text(encoding="utf-8"), re.DOTALL)[0]
    for ending in (ending for known in FORMATS for ending in known.extensions):
        assert ending in rows
    for word in WORDS:
        assert f"`{word.name}`" in rows
