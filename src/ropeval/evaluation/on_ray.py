"""The same questions through Ray: every policy by every method is a piece of work, and so is how far the log covers a
policy. What depends on the log alone is prepared once; its checkpoints travel to all who need them, who find the
training done. This process alone reads the log and keeps the answers, as they come.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ropeval.cluster import Cluster, as_they_come, connected, own_methods, prepare_node, send_code_of
from ropeval.data import Dataset, Log, Problem
from ropeval.errors import UserError
from ropeval.estimators import ESTIMATORS
from ropeval.evaluation import coverage
from ropeval.evaluation.evaluate import answer, make_run
from ropeval.evaluation.methods import Method, make_methods
from ropeval.evaluation.options import Options
from ropeval.evaluation.result import Coverage, Estimate
from ropeval.evaluation.result_folder import ResultFolder
from ropeval.evaluation.tune import tune
from ropeval.files import write_atomically
from ropeval.policies import Policy
from ropeval.runtime import products_by_one_thread

if TYPE_CHECKING:
    from ropeval.evaluation.lanes import Report
    from ropeval.evaluation.session import Session

Files = dict[str, bytes]  # by their place in a folder


class Asked(NamedTuple):
    """What all pieces of work share."""

    dataset: Dataset
    options: Options  # with the methods by name: those of the user's own are made on the node
    fingerprint: str
    own: dict[str, str]  # files of methods
    alone: bool  # only one policy is judged


def answer_on_ray(
    session: "Session", folder: ResultFolder, cluster: Cluster, report: "Report | None" = None
) -> list[Estimate]:
    """Every answer in the order of the questions; those that the folder keeps are not asked for again."""
    found: dict[int, Estimate] = {}

    def note(number: int, estimate: Estimate) -> None:
        found[number] = estimate
        if report:
            report(number, "done", 1.0)

    def keep(number: int, estimate: Estimate) -> None:
        folder.keep_estimate(number, estimate)
        note(number, estimate)

    left = []
    for number in range(len(session.questions)):
        if (kept := folder.kept_estimate(number)) is not None:
            note(number, kept)
        else:
            left.append(number)
    with connected(cluster) as ray:
        for take, result in as_they_come(ray, _hand_in(ray, session, folder, cluster, left, keep)):
            if isinstance(result, ray.exceptions.RayError):
                why = str(result).splitlines()[0]
                raise UserError(f"the cluster gave up on a question ({why}); --resume goes on with what is left")
            if isinstance(result, Exception):
                raise result
            take(result)
    return [found[number] for number in sorted(found)]


def _hand_in(
    ray: Any,
    session: "Session",
    folder: ResultFolder,
    cluster: Cluster,
    left: list[int],
    keep: Callable[[int, Estimate], None],
) -> dict[Any, Callable[[Any], None]]:
    """All work, and what is to be done with what comes of it."""
    measure, ask = (cluster.remote(ray, function) for function in (_remote_coverage, _remote_answer))
    options = session.options.model_copy(update={"method": tuple(m.name for m in session.methods)})
    asked = ray.put(Asked(session.dataset.in_memory(), options, session.fingerprint, own_methods(), session.alone))
    running: dict[Any, Callable[[Any], None]] = {}
    ready: dict[str, Any] = {}  # by method, what was prepared for it
    wanted = {number % len(session.methods) for number in left}
    names = [session.methods[which].name for which in sorted(wanted) if session.methods[which].prepares]
    if names:
        files = cluster.remote(ray, _remote_preparation).remote(asked, names, _pack(folder.shared))
        running[files] = partial(_unpack, folder.shared)
        ready = dict.fromkeys(names, files)
    sent, covered = [], []
    for place, policy in enumerate(session.policies):
        send_code_of(ray, policy)
        sent.append(ray.put(policy))
        covered.append(measure.remote(asked, sent[place]))
        running[covered[place]] = partial(folder.keep_coverage, place)
    for number in left:
        place, which = divmod(number, len(session.methods))
        name = session.methods[which].name
        running[ask.remote(asked, sent[place], name, covered[place], ready.get(name, {}))] = partial(keep, number)
    return running


# --- on a node ------------------------------------------------------------------------------------------------

_logs: dict[str, Log] = {}  # the one at work: what a question makes of it, the next one here finds


def _log(asked: Asked) -> Log:
    prepare_node(asked.own)
    if asked.fingerprint not in _logs:
        _logs.clear()
        options = asked.options
        _logs[asked.fingerprint] = Log(asked.dataset, options.gamma, horizon=options.horizon, numbers=options.numbers)
    return _logs[asked.fingerprint]


def _problem(asked: Asked, policy: Policy) -> Problem:
    return _log(asked).problem(policy, asked.options.seed, asked.options.draws)


def _methods(asked: Asked) -> dict[str, Method]:
    return {method.name: method for method in make_methods(asked.options)}


@products_by_one_thread()
def _remote_preparation(asked: Asked, names: list[str], files: Files) -> Files:
    """What these methods train on the log alone, as files of checkpoints; `files`: what there is of them already."""
    log, methods = _log(asked), _methods(asked)
    with _folder(files) as shared:
        run = make_run(log, asked.options, shared=shared)
        for method in (methods[name] for name in names):
            ESTIMATORS[method.estimator].ready(log, method.configs[method.estimator], run)
        return _pack(shared)


@products_by_one_thread()
def _remote_coverage(asked: Asked, policy: Policy) -> Coverage:
    return coverage.measure(_problem(asked, policy))


@products_by_one_thread()
def _remote_answer(asked: Asked, policy: Policy, name: str, covered: Coverage, files: Files) -> Estimate:
    problem, method = _problem(asked, policy), _methods(asked)[name]
    tuned = tune(problem, method, asked.options.seed) if asked.options.tune else None
    with _folder(files) as shared:
        chosen = tuned.method if tuned else method
        return answer(problem, chosen, asked.options, covered=covered, shared=shared, alone=asked.alone)


# --- a folder that travels ------------------------------------------------------------------------------------


@contextmanager
def _folder(files: Files) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ropeval-") as place:
        _unpack(Path(place), files)
        yield Path(place)


def _pack(folder: Path) -> Files:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.npz"))}


def _unpack(folder: Path, files: Files) -> None:
    for name, content in files.items():
        write_atomically(folder / name, partial(Path.write_bytes, data=content))
