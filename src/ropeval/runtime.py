"""How the command line sets up JAX: compiled programs are kept between runs, and its chatter is silenced."""

import logging
import os
from pathlib import Path


def prepare() -> None:
    """Call before the first computation. Environment variables that the user set win."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    import jax

    logging.getLogger("jax").setLevel(logging.ERROR)
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        jax.config.update("jax_compilation_cache_dir", str(cache_folder() / "compiled"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "ropeval"
