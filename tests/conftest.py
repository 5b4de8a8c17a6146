"""Every test runs with silent broadcasting forbidden, and with compiled programs kept between runs."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import NoReturn

# Whoever is started in the background ignores Ctrl-C, and so do the processes it starts; some tests press it.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
# Command-line tests start processes of their own; all of them share one cache of compiled programs.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(tempfile.gettempdir()) / "ropeval-test-compiled"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
# The tests themselves run side by side: threads within a small product of matrices would only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Small programs that run for a moment: most of the suite's time went into optimising them. `XLA_FLAGS= make test`
# compiles them as users do.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=1 --xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1",
)

import jax
import jaxtyping
import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# Where signatures say shapes, every call in the tests is held to them; outside the tests they cost nothing.
SHAPED = [
    "ropeval.encoders.similarity",
    "ropeval.estimators.fitted_q",
    "ropeval.estimators.fqe",
    "ropeval.estimators.importance",
    "ropeval.estimators.importance_weights",
    "ropeval.evaluation.interval",
    "ropeval.learning.fused",
    "ropeval.learning.networks",
    "ropeval.learning.optimise",
]
jaxtyping.install_import_hook(SHAPED, "beartype.beartype")

jax.config.update("jax_numpy_rank_promotion", "raise")  # [n] against [n, 1] is this field's classic bug
# A shared machine repeats the same examples, so that a failure is the change's; elsewhere every run looks for new ones.
settings.register_profile(
    "ropeval", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
)
settings.load_profile("ropeval")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Who asks for the browser is marked so; training and processes are marked by hand."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """`make quick` leaves out what is marked: a test that trains or starts Python anew, itself or by what it asks for,
    and is not marked, fails."""
    from ropeval.learning import engine

    with pytest.MonkeyPatch.context() as patch:
        if item.get_closest_marker("training") is None:
            patch.setattr(engine, "_choose", _unmarked("trains", "training"))
        if item.get_closest_marker("process") is None and item.get_closest_marker("browser") is None:
            patch.setattr(BaseProcess, "start", _unmarked("starts a process", "process"))
            patch.setattr(subprocess.Popen, "__init__", _start_no_python)
        return (yield)


def _unmarked(does: str, marker: str) -> Callable[..., NoReturn]:
    return lambda *_, **__: pytest.fail(f"it {does}: mark it with pytest.mark.{marker}")


_start = subprocess.Popen.__init__


def _start_no_python(self, args, *others, **named) -> None:
    """Git, which is asked for the commit, takes no time, and MuJoCo asks for GLFW's version but once."""
    if args[0] == sys.executable and "glfw" not in str(args):
        _unmarked("starts a process", "process")()
    _start(self, args, *others, **named)


@pytest.fixture(autouse=True, scope="module")
def _programs_of_other_tests_are_let_go() -> None:
    """Whole modules train without `fit`, which would see to it."""
    from ropeval.runtime import release_compiled

    release_compiled()


@pytest.fixture(autouse=True)
def _modules_written_by_a_test_go_with_it(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Two tests may write a `mine.py` each; whichever comes second would be given the other's."""
    before, written = set(sys.modules), str(tmp_path_factory.getbasetemp())
    yield
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", None) or "").startswith(written):
            del sys.modules[name]


@pytest.fixture
def read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of HDF5 and Parquet are read here, not in a process of their own. `test_guarded_read` is about that."""
    monkeypatch.setattr("ropeval.data.formats.read_apart", lambda *_: None)


SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture
def shared_policies() -> Path:
    """Published policies, which this project does not ship."""
    folder = SHARED / "policies"
    if not folder.is_dir():
        pytest.skip("the published policies are not here")
    return folder


@pytest.fixture
def columns() -> dict[str, np.ndarray]:
    """A small valid log: three episodes of four steps; the first terminates, the others are cut off."""
    rng = np.random.default_rng(0)
    ends = np.tile([False, False, False, True], 3)
    return {
        "observations": rng.standard_normal((12, 3)).astype(np.float32),
        "actions": rng.uniform(-1, 1, (12, 2)).astype(np.float32),
        "rewards": rng.standard_normal(12).astype(np.float32),
        "terminations": ends & (np.arange(12) < 4),
        "truncations": ends & (np.arange(12) >= 4),
        "next_observations": rng.standard_normal((12, 3)).astype(np.float32),
    }
