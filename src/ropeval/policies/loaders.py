"""From a word on the command line to a policy: the file's first bytes tell its format, its reader does the rest."""

from pathlib import Path

from ropeval.errors import UserError, either
from ropeval.policies.inert.archives import Archive
from ropeval.policies.normalised import NormalisedPolicy
from ropeval.policies.policy import MODES, Mode, Policy
from ropeval.policies.readers import FORMATS, WORDS
from ropeval.policies.readers.policy_file import PolicyFile
from ropeval.policies.readers.vecnormalize import read_statistics
from ropeval.policies.spec import exists, parse_spec
from ropeval.words import writable

NO_STATISTICS = "none"  # FILE+none: the user says that the policy takes the log's observations as they are
READERS = [known.reader for known in FORMATS]  # imported here: nothing is while a file of strangers is read
SPOKEN = [(word, word.reader) for word in WORDS]
READS = either([*(known.name for known in FORMATS), *(word.name for word in WORDS)])
AS_ONNX = 'export it: torch.onnx.export(policy, torch.zeros(1, SIZE), "policy.onnx", external_data=False)'
AS_FUNCTION = "wrap it in a Python function and give FILE.py:name (docs/start/formats.md shows both)"
FROM_D3 = (
    'export it: algo = d3rlpy.load_learnable("model.d3"); algo.save_policy("policy.onnx"), and give policy.onnx '
    "(docs/start/formats.md has a line more for torch 2.9 and newer)"
)
OLD_TORCH = (0x1950A86A20F9469CFC6C).to_bytes(10, "little")  # torch's magic number, where its files are no zips
JAX_ENDINGS = (".jax", ".jax_export", ".stablehlo", ".mlir")
ENDINGS = {ending for known in FORMATS for ending in known.extensions}
SAVE_WHOLE = "save the whole model (Stable-Baselines3: model.save) or export it to ONNX"


def load_policy(spec: str | Path, mode: Mode | None = None) -> Policy:
    """Load a policy. Files are never executed: see docs/start/formats.md.

    `FILE[+STATISTICS][@MODE]`  a file of one of the formats in `readers`; STATISTICS is what VecNormalize.save wrote;
                                MODE is stochastic (default), mean, or offset
    `uniform[:LOW,HIGH]`        uniform over a box, or over the log's discrete actions
    `FILE.py:name`              a function `f(observations)` or `f(observations, rng)`, or a Policy
    `package.module:name`       the same by its module, in the working directory or installed
    `NAME=…`                    any of these under a name of your own

    >>> load_policy("dice=uniform")
    UniformPolicy 'dice' (stochastic)
    """
    if not writable(str(spec)):
        raise UserError(f"policy {str(spec)!r}: this name is no text (not UTF-8); rename the file")
    name, text, statistics, own_mode = parse_spec(str(spec))
    mode = own_mode or mode
    if mode is not None and mode not in MODES:
        raise UserError(f"policy {text}: unknown action mode {mode!r}; choose from: {', '.join(MODES)}")
    word, reader = next(((word, reader) for word, reader in SPOKEN if reader.recognises(text)), (None, None))
    if exists(text) and not (word and word.reserved):
        policy = _load_file(Path(text), statistics, mode)
    elif reader and statistics is None:
        policy = reader.read(text, mode)
    else:
        whole = text if statistics is None else f"{text}+{statistics}"
        raise UserError(f"policy {whole}: no such file, and no function (FILE.py:name); give {READS}")
    return policy if name is None else policy.named(name)


def _load_file(path: Path, statistics: str | None, mode: Mode | None) -> Policy:
    if not path.is_file():
        raise UserError(f"policy {path}: {_about_folder(path)}")
    normalise = read_statistics(Path(statistics)) if statistics not in (None, NO_STATISTICS) else None
    file = PolicyFile.open(path, mode, None if statistics == NO_STATISTICS else normalise is not None)
    policy = _read(file)
    return policy if normalise is None else NormalisedPolicy(policy, normalise)


def _read(file: PolicyFile) -> Policy:
    if file.path.suffix == ".d3":  # a pickle or a zip, by version: others would look into it and not find theirs
        raise UserError(f"{file.where}: this is d3rlpy's own file, which is a program; {FROM_D3}")
    if file.archive is None and OLD_TORCH in file.content[:32]:
        raise UserError(f"{file.where}: torch wrote this before version 1.6; load it and torch.save it again")
    for reader in READERS:
        if reader.recognises(file):
            return reader.read(file)
    about = _about_start(file.content, file.path) if file.archive is None else _about_zip(file.archive, file.path)
    raise UserError(f"{file.where}: {about}")


# --- what people hand over instead --------------------------------------------------------------------------------


def _about_folder(path: Path) -> str:
    if not path.is_dir():
        return "it is no ordinary file"
    if (path / "policy.pth").exists():
        return "this is an unpacked Stable-Baselines3 zip; give the .zip itself"
    if (path / "saved_model.pb").exists():
        return "this is a TensorFlow SavedModel, which is a program; export the policy to ONNX"
    if (path / "data").is_dir() or (path / "columns.json").is_file() or any(path.glob("*.hdf5")):
        return "this folder looks like a log; the log comes first: ropeval evaluate LOG POLICY…"
    held = sorted(file for file in path.iterdir() if file.suffix in ENDINGS)
    if held:
        files = " ".join(str(file) for file in held[:2]) + (" …" if len(held) > 2 else "")
        return f"this is a folder; if its files are the policies, give them: {files}"
    return f"this is a folder; give {READS}"


def _about_zip(archive: Archive, path: Path) -> str:
    names = list(archive.members)
    if any("/code/" in name for name in names):
        return f"this is TorchScript, which is a program and is not run; {AS_ONNX}, or {AS_FUNCTION}"
    if any(name.endswith("/data.pkl") for name in names):
        return (
            f"this is a torch file: weights without the architecture; {AS_ONNX}, or {AS_FUNCTION}. If one of CleanRL's "
            "scripts wrote it, give it the ending .cleanrl_model; of Stable-Baselines3, give the .zip of model.save"
        )
    if any(name.endswith("/policy.pth") for name in names):
        return "policy.pth lies in a folder inside the zip; zip the files themselves, as model.save does"
    found = ", ".join(ascii(name[:40])[1:-1] for name in names[:5]) or "nothing"
    return f"this zip is no policy: expected data and policy.pth (Stable-Baselines3) or arrays (.npz), found {found}"


def _about_start(content: bytes, path: Path) -> str:
    if content.startswith(b"\x89HDF"):
        return "this is HDF5: a log, or Keras weights? The log comes first: ropeval evaluate LOG POLICY…"
    if content.startswith(b"\x93NUMPY"):
        return "this is a single array, not an .npz archive of named arrays"
    if content.startswith(b"PAR1"):
        return "this is Parquet: a log? The log comes first: ropeval evaluate LOG POLICY…"
    if content.startswith(b"PK"):
        return "the archive is empty or damaged; copy it again"
    if path.suffix in (".npz", ".zip"):
        return "cannot be read as a zip archive, damaged or cut short? Copy it again"
    if path.suffix == ".py":
        return f"to use a function in a Python file, give {path}:NAME"
    if path.suffix in JAX_ENDINGS:
        return f"is this from jax.export? It is a program and is not run unless you name it: {AS_FUNCTION}"
    if path.suffix in (".pt", ".pth", ".ckpt"):
        return f"this is not a policy file that can be read without running it; {SAVE_WHOLE}"
    if path.suffix in (".csv", ".tsv"):
        return "this is a table: a log? The log comes first: ropeval evaluate LOG POLICY…"
    return f"unknown format; give {READS}"
