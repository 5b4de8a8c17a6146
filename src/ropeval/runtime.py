"""How JAX is set up and kept within bounds: compiled programs are kept between runs, its chatter is silenced."""

import contextlib
import logging
import os
import platform
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

NVIDIA = Path("/proc/driver/nvidia/version")  # there where the driver is
CompilerOptions = dict[str, str | bool | int | float]
# On a GPU, XLA tries many forms of every matrix product before it takes one: the library's own, and kernels that it
# compiles for the trial on all cores. What runs once does without; what runs for less than a minute tries the library's
# alone: compiled sooner, while others are compiled beside it, and a step takes up to a fifth longer. At level 1 no form
# is also checked against the others, and the same one is taken. Numbers: docs/results/speed.md.
RUNS_ONCE: CompilerOptions = {"xla_gpu_autotune_level": 0, "xla_gpu_enable_triton_gemm": False}
RUNS_OFTEN: CompilerOptions = {"xla_gpu_autotune_level": 1, "xla_gpu_enable_triton_gemm": False}
RUNS_LONG: CompilerOptions = {"xla_gpu_autotune_level": 1}
AREAS, AREAS_ALLOWED = Path("/proc/self/maps"), Path("/proc/sys/vm/max_map_count")  # of memory, on Linux


def prepare() -> None:
    """Call before the first computation. Environment variables that the user set win.

    JAX reads them when it is imported, which is left to those who need it: `--help` does not.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    # JAX would ask for three quarters of a GPU's memory at once: nobody else could use it, and the host keeps account.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    logging.getLogger("jax").setLevel(logging.ERROR)
    try:
        folder = os.environ.get("JAX_COMPILATION_CACHE_DIR") or str(cache_folder() / "compiled")
    except RuntimeError:  # a user without a home, as in some containers
        return
    # A folder that cannot be written, or a full disk, only costs the time to compile again: not worth a word.
    warnings.filterwarnings("ignore", "Error (reading|writing) persistent compilation cache")
    settings = {
        "jax_compilation_cache_dir": folder,
        "jax_persistent_cache_min_compile_time_secs": 0.0,  # reading even the smallest takes less than compiling it
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    unsaid = {name: value for name, value in settings.items() if name.upper() not in os.environ}
    os.environ.update({name.upper(): str(value) for name, value in unsaid.items()})
    if "jax" in sys.modules:
        import jax

        for name, value in unsaid.items():
            jax.config.update(name, value)


def release_compiled() -> None:
    """Let go of compiled programs before they use up what the system allows a process.

    Linux gives a process 65,530 areas of memory. Each log of another size is compiled anew, which takes some 750 of
    them for a method, and JAX keeps them all: the hundredth log would end the process without a word.
    """
    try:
        with AREAS.open("rb") as areas:
            many = sum(1 for _ in areas) > int(AREAS_ALLOWED.read_text()) // 2
    except (OSError, ValueError):  # another system
        return
    if many:
        import jax

        jax.clear_caches()
        _return_freed()


def _return_freed() -> None:
    """The C library keeps what was freed, some 30 MB for each log of another size, for this process alone."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError):  # only GNU's has a word for it
        ctypes.CDLL(None).malloc_trim(0)


def float64() -> contextlib.AbstractContextManager[Any]:
    """64-bit JAX arrays within the block, in this thread only: the rest of the library computes in float32."""
    import jax

    switch: Any = getattr(jax, "enable_x64", None)
    if switch is None:  # JAX before 0.8
        from jax.experimental import enable_x64 as switch  # type: ignore[attr-defined,no-redef]
    context: contextlib.AbstractContextManager[Any] = switch(True)
    return context


@contextlib.contextmanager
def products_by_one_thread() -> Iterator[None]:
    """Within, and as long as the thread that says so is within, each of NumPy's matrix products takes one thread.

    Policies are asked block by block, on all cores (`blocks.py`). The library's own threads would wait for each of
    these small products by turning in a loop, and take the cores from what computes or compiles beside. One thread also
    rounds alike however many cores there are.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        yield


@cache
def device() -> str:
    """What computes, in words."""
    import jax

    first = jax.devices()[0]
    if first.platform == "cpu":
        return f"{cores()} CPU cores"
    count = len(jax.devices())
    return first.device_kind if count == 1 else f"{count} × {first.device_kind}"


def cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor() -> str:
    """The name of this machine's."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def idle_gpu() -> str:
    """What to do about a GPU of this machine that JAX does not see; empty if there is none."""
    if not NVIDIA.exists() or not device().endswith("CPU cores"):
        return ""
    return "; JAX does not see the NVIDIA GPU of this machine: pip install 'ropeval[gpu]'"


def sized_for(backend: str) -> str:
    """Sizes are chosen for a CPU, or for an accelerator of whatever kind."""
    return "cpu" if backend == "cpu" else "gpu"


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "ropeval"
