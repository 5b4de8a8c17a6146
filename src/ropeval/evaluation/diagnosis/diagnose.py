"""What speaks against believing an estimate: one small function per doubt, each a sentence, a severity and advice.

code                    fires where
divergence              members, or resampled logs, have no finite or no sane estimate
out-of-bounds           the estimate, or a member, is more than the logged rewards allow
support                 a simulator left what the log shows, and went over to the log's own value
replay                  logged episodes do not earn in a simulator what they earned
collapse                the representation hardly tells states apart
coverage                the policy does what the log does not show
effective-sample-size   always, with importance weights; a warning where a few episodes decide, or weights look wrong
too-short               training was too short to see as far as γ looks, or to know chance from what was not learned
not-converged           the estimate still moved over the last quarter of its training
bellman-residual        q does not fit the episodes that its member has not seen
few-episodes            there are too few episodes to resample
truncation              most of the discounted weight lies beyond the log's cut-offs
clock                   episodes end by the clock, and nothing in the state tells the time
horizon                 γ looks further than any episode lasts
disagreement            methods contradict each other beyond their intervals; one alone against all others
method                  something that only the method can know; see docs/methods
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ropeval.estimators import ESTIMATORS
from ropeval.evaluation.conclude import Conclusion
from ropeval.evaluation.diagnosis import about_features, about_fit, about_log, about_training
from ropeval.evaluation.diagnosis.evidence import Evidence
from ropeval.evaluation.fit import Fitted
from ropeval.evaluation.methods import Method
from ropeval.evaluation.result import SEVERITIES, Coverage, Estimate, Finding
from ropeval.learning.engine import Run

CHECKS: tuple[Callable[[Evidence], Finding | None], ...] = (
    about_fit.divergence,
    about_fit.out_of_bounds,
    about_fit.support,
    about_fit.replay,
    about_features.collapse,
    about_log.coverage,
    about_log.effective_sample_size,
    about_training.too_short,
    about_fit.not_converged,
    about_fit.bellman_residual,
    about_log.few_episodes,
    about_log.truncation,
    about_log.clock,
    about_log.horizon,
)


SEVERAL = 3  # methods that contradict a single one before it stands alone


def evidence_of(fitted: Fitted, method: Method, run: Run, said: Conclusion, covered: Coverage | None) -> Evidence:
    sees_policy = ESTIMATORS[method.estimator].sees_policy
    return Evidence(
        fitted.problem, said.value, said.diverged, fitted.trained, fitted.estimated, run, fitted.features,
        coverage=covered if sees_policy else None,
        remarks=fitted.remarks,
        bounds=said.bounds,
    )  # fmt: skip


def diagnose(evidence: Evidence) -> list[Finding]:
    """Every doubt that fires, worst first."""
    found = [finding for check in CHECKS if (finding := check(evidence)) is not None]
    found += [Finding("method", "warning", remark, "") for remark in evidence.remarks]
    return worst_first(found)


def worst_first(findings: Sequence[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda f: SEVERITIES.index(f.severity))


def compare_methods(results: Sequence[Estimate], blind: set[str]) -> list[Estimate]:
    """The same estimates, with the doubt that methods cast on each other. `blind` methods ignore the policy."""
    apart = {id(result): _contradicting(result, results, blind) for result in results}
    odd = {result.policy: result for result in results if _stands_alone(result, results, apart)}
    return [_with(result, disagreement(result, apart[id(result)], odd.get(result.policy))) for result in results]


def _contradicting(result: Estimate, results: Sequence[Estimate], blind: set[str]) -> list[Estimate]:
    """The estimates for the same policy whose intervals lie elsewhere."""
    if result.method in blind or result.interval is None:
        return []
    others = [o for o in results if o.policy == result.policy and o.method not in blind]
    return [
        o
        for o in others
        if o.interval and (o.interval.low > result.interval.high or o.interval.high < result.interval.low)
    ]


def _stands_alone(result: Estimate, results: Sequence[Estimate], apart: dict[int, list[Estimate]]) -> bool:
    """Whether several contradict it, and none of the others contradicts another."""
    others = [other for other in results if other.policy == result.policy and other is not result]
    return len(apart[id(result)]) >= SEVERAL and all(apart[id(other)] in ([], [result]) for other in others)


def disagreement(result: Estimate, apart: Sequence[Estimate], odd: Estimate | None) -> Finding | None:
    """With the estimates that it contradicts. Against one that stands alone it is said once, and not of all others."""
    if not apart or (odd is not None and odd is not result):
        return None
    names = ", ".join(other.method for other in apart)
    if odd is None:
        message = f"{result.method} contradicts {names} beyond both intervals: at most one can be right"
        advice = "look at which of them has the graver findings, and at the trivial baselines"
    else:
        weights = [f for f in result.diagnosis if f.code == "effective-sample-size" and f.severity != "note"]
        message = f"{result.method} stands alone: {names} all contradict it beyond both intervals, and not each other"
        message += "".join(f". Its weights may be why: {finding.message}" for finding in weights)
        advice = "believe the others, unless they share a fault"
    numbers = {other.method: other.value for other in apart if other.value is not None}
    return Finding("disagreement", "warning", message, advice, numbers)


def _with(result: Estimate, finding: Finding | None) -> Estimate:
    if finding is None:
        return result
    diagnosis = worst_first([*result.diagnosis, finding])
    return replace(result, diagnosis=diagnosis, warnings=[f.sentence for f in diagnosis])
