"""JAX is told where to keep compiled programs, whether or not it is imported yet, and the user's word wins."""

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import ropeval
from ropeval import runtime
from ropeval.runtime import cores, processor, products_by_one_thread, sized_for

CODE = """
import json, sys
if {before}:
    import jax
from ropeval.runtime import prepare
prepare()
assert {before} or "jax" not in sys.modules
import jax

names = ("compilation_cache_dir", "persistent_cache_min_compile_time_secs", "persistent_cache_min_entry_size_bytes")
print(json.dumps([getattr(jax.config, "jax_" + name) for name in names]))
"""


def ask(tmp_path, before: bool, **environment: str) -> list[object]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    code = CODE.format(before=before)
    found = subprocess.run(
        [sys.executable, "-c", code], env=clean | {"XDG_CACHE_HOME": str(tmp_path)} | environment,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(found.stdout)


@pytest.mark.process
@pytest.mark.parametrize("before", [True, False])
def test_compiled_programs_are_kept(tmp_path, before):
    assert ask(tmp_path, before) == [str(tmp_path / "ropeval" / "compiled"), 0.0, -1]


@pytest.mark.process
@pytest.mark.parametrize("before", [True, False])
def test_the_users_word_wins(tmp_path, before):
    """Who names a folder, or a limit, has said nothing about the rest."""
    assert ask(tmp_path, before, JAX_COMPILATION_CACHE_DIR="elsewhere") == ["elsewhere", 0.0, -1]
    limit = {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "3"}
    assert ask(tmp_path, before, **limit) == [str(tmp_path / "ropeval" / "compiled"), 3.0, -1]


@pytest.mark.parametrize(("said", "found"), [(None, "false"), ("true", "true")])
def test_memory_of_a_gpu_is_taken_as_it_is_needed(monkeypatch, said, found):
    name = "XLA_PYTHON_CLIENT_PREALLOCATE"
    monkeypatch.setenv(name, said or "")
    if said is None:
        monkeypatch.delenv(name)
    runtime.prepare()
    assert os.environ[name] == found


COMPILES = """
from ropeval.runtime import prepare
prepare()
import jax
print(jax.jit(lambda x: x + 1)(1))
"""


@pytest.mark.process
def test_a_cache_that_cannot_be_written_is_not_worth_a_word(tmp_path):
    (tmp_path / "file").touch()  # no folder can be made in it
    clean = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    found = subprocess.run(
        [sys.executable, "-c", COMPILES], env=clean | {"XDG_CACHE_HOME": str(tmp_path / "file")},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert (found.stdout, found.stderr) == ("2\n", "")


def test_a_user_without_a_home_has_no_cache(monkeypatch):
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nowhere)
    for name in ("XDG_CACHE_HOME", "JAX_COMPILATION_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    runtime.prepare()
    assert "JAX_COMPILATION_CACHE_DIR" not in os.environ


def test_a_gpu_that_jax_does_not_see_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(runtime, "NVIDIA", tmp_path / "version")
    monkeypatch.setattr(runtime, "device", lambda: "2 CPU cores")
    assert runtime.idle_gpu() == ""
    runtime.NVIDIA.touch()
    assert "pip install 'ropeval[gpu]'" in runtime.idle_gpu()
    monkeypatch.setattr(runtime, "device", lambda: "NVIDIA H200")
    assert runtime.idle_gpu() == ""


@pytest.mark.parametrize(("backend", "size"), [("cpu", "cpu"), ("gpu", "gpu"), ("tpu", "gpu"), ("METAL", "gpu")])
def test_sizes_are_a_cpus_or_an_accelerators(backend, size):
    assert sized_for(backend) == size


def test_what_this_machine_is_has_a_name_and_a_size():
    assert 1 <= cores() <= os.cpu_count()
    assert processor()


@pytest.fixture
def traced():
    """A compiled program, and how often it was traced."""
    times: list[int] = []

    @jax.jit
    def program(x):
        times.append(1)
        return x + 1

    program(1)
    return program, times


@pytest.mark.skipif(not runtime.AREAS.exists(), reason="areas of memory are counted on Linux")
@pytest.mark.parametrize(("allowed", "made"), [("10", 2), ("1000000000", 1), ("no number", 1), (None, 1)])
def test_compiled_programs_go_before_the_process_would(monkeypatch, tmp_path, traced, allowed, made):
    monkeypatch.setattr(runtime, "AREAS_ALLOWED", tmp_path / "allowed")
    if allowed is not None:
        runtime.AREAS_ALLOWED.write_text(allowed)
    runtime.release_compiled()
    program, times = traced
    assert program(1) == 2
    assert len(times) == made


def test_what_was_freed_goes_back_to_the_system_where_the_c_library_can(monkeypatch):
    kept: list[int] = []
    for library in (SimpleNamespace(malloc_trim=kept.append), SimpleNamespace()):
        monkeypatch.setattr(ctypes, "CDLL", lambda name, found=library: found)
        runtime._return_freed()
    assert kept == [0]


def product_threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture
def _two_threads():
    with threadpool_limits(2, "blas"):
        yield


@pytest.mark.usefixtures("_two_threads")
def test_products_take_one_thread_and_afterwards_as_many_as_before():
    with products_by_one_thread():
        assert product_threads() == {1}
        with products_by_one_thread():
            assert product_threads() == {1}
        assert product_threads() == {1}
    assert product_threads() == {2}


@pytest.mark.usefixtures("_two_threads")
@pytest.mark.parametrize("ask", [ropeval.evaluate, ropeval.compare])
def test_so_they_do_while_policies_are_judged(ask):
    log = ropeval.load_dataset(
        [{"obs": [t / 9], "action": 0, "pscore": 0.5, "reward": 1.0} for t in range(9)], {"terminations": "always"}
    )
    seen = []

    def act(observations):
        seen.append(product_threads())
        return np.zeros(len(observations), int)

    ask(log, act, "wis", gamma=0)
    assert {1} in seen
    assert product_threads() == {2}
