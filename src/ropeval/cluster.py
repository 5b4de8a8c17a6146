"""Work through Ray, a study's or an evaluation's: one GPU or a set of cores each, on as many machines as there are.

Only the process that was started reads data and writes results: nodes need ropeval and nothing else, no shared disk.
Ray sends what is shared once per node, and does a piece of work again elsewhere when its node dies.
"""

import hashlib
import logging
import os
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ropeval.errors import UserError
from ropeval.files import write_text
from ropeval.interrupts import stop_if_pressed
from ropeval.policies import Policy

CONNECT_SECONDS = 5.0
RETRIES = 5  # of a piece of work, when its machine or its process dies
Asked = TypeVar("Asked")


class Cluster(NamedTuple):
    """Which one, and what each piece of work may take of it."""

    address: str  # HOST:PORT; auto: the one that this process is part of; local: one that is started here
    gpus: float = 0.0
    cores: int = 1

    def remote(self, ray: Any, function: Callable[..., Any]) -> Any:
        return ray.remote(max_retries=RETRIES, num_gpus=self.gpus, num_cpus=self.cores)(function)


def check_cluster(cluster: Cluster) -> None:
    """Ray itself waits for minutes before it says that nobody answers."""
    for name, value, least in (("--gpus", cluster.gpus, 0), ("--cores", cluster.cores, 1)):
        if not value >= least:
            raise UserError(f"{name} is {value}; it must be at least {least}")
    host, colon, port = cluster.address.removeprefix("ray://").rpartition(":")
    if not colon:
        return  # local or auto
    try:
        socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
    except (OSError, ValueError, OverflowError) as error:
        raise UserError(
            f"--ray {cluster.address}: nobody answers there ({error}); is it HOST:PORT of a Ray cluster?"
        ) from None


@contextmanager
def connected(cluster: Cluster) -> Iterator[Any]:
    """Yields Ray, ready to be used."""
    check_cluster(cluster)
    try:
        import ray
    except ImportError:
        raise UserError("--ray needs Ray, which is not installed; run: pip install 'ropeval[ray]'") from None
    address = None if cluster.address == "local" else cluster.address
    try:
        ray.init(address=address, include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        why = str(error).splitlines()[0]
        raise UserError(f"--ray {cluster.address}: no cluster could be reached or started ({why})") from None
    try:
        yield ray
    finally:
        ray.shutdown()


def as_they_come(ray: Any, running: dict[Any, Asked]) -> Iterator[tuple[Asked, Any]]:
    """What was asked, and its result or the exception that it ended with. Empties `running`."""
    while running:
        ready, _ = ray.wait(list(running), num_returns=1)
        for reference in ready:
            try:
                result = ray.get(reference)
            except Exception as error:  # of the work itself; or its machine died once too often
                stop_if_pressed()
                result = _cause(error)
            yield running.pop(reference), result


def _cause(error: Exception) -> Exception:
    """Ray wraps what was raised on a node, once for each piece of work that waited for it."""
    cause = getattr(error, "cause", None)
    return _cause(cause) if isinstance(cause, Exception) else error


# --- what travels ---------------------------------------------------------------------------------------------


def send_code_of(ray: Any, policy: Policy) -> None:
    """A policy that is the user's own function travels with its module, which the nodes do not have."""
    for part in (policy, *vars(policy).values()):
        module = sys.modules.get(getattr(part, "__module__", None) or "")
        if module is not None and not _installed(module):
            ray.cloudpickle.register_pickle_by_value(module)


def _installed(module: Any) -> bool:
    """Whether a node with ropeval has it, too: it is in a package folder, or part of Python or of ropeval."""
    path = getattr(module, "__file__", None)
    return path is None or module.__name__.partition(".")[0] == "ropeval" or "site-packages" in path


def own_methods() -> dict[str, str]:
    """The user's files of methods, by name, as text: the nodes do not have them."""
    paths = [Path(word) for word in os.environ.get("ROPEVAL_METHODS", "").split(os.pathsep) if word]
    return {path.name: path.read_text(encoding="utf-8") for path in paths if path.is_file()}


def prepare_node(own: dict[str, str]) -> None:
    """Before a piece of work, on the node."""
    from ropeval.runtime import prepare

    prepare()
    fingerprint = hashlib.sha256(repr(sorted(own.items())).encode()).hexdigest()[:8]
    folder = Path(tempfile.gettempdir()) / f"ropeval-methods-{fingerprint}"
    for name, text in own.items():
        write_text(folder / name, text)
    os.environ["ROPEVAL_METHODS"] = os.pathsep.join(str(folder / name) for name in own)
