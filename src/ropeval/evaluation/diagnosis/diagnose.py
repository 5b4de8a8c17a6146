"""What speaks against believing an estimate: one small function per doubt, each a sentence, a severity and advice.

code                    fires where
divergence              members, or resampled logs, have no finite or no sane estimate
out-of-bounds           the estimate is more than the logged rewards allow
support                 a simulator left what the log shows, and went over to the log's own value
collapse                the representation hardly tells states apart
coverage                the policy does what the log does not show
effective-sample-size   always, with importance weights; a warning where a few episodes decide
not-converged           the estimate still moved over the last quarter of its training
bellman-residual        q does not fit the episodes that its member has not seen
few-episodes            there are too few episodes to resample
truncation              most of the discounted weight lies beyond the log's cut-offs
horizon                 γ looks further than any episode lasts
disagreement            two methods contradict each other beyond their intervals
method                  something that only the method can know; see docs/methods
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ropeval.evaluation.diagnosis import about_fit, about_log
from ropeval.evaluation.diagnosis.evidence import Evidence
from ropeval.evaluation.result import SEVERITIES, Estimate, Finding

CHECKS: tuple[Callable[[Evidence], Finding | None], ...] = (
    about_fit.divergence,
    about_fit.out_of_bounds,
    about_fit.support,
    about_fit.collapse,
    about_log.coverage,
    about_log.effective_sample_size,
    about_fit.not_converged,
    about_fit.bellman_residual,
    about_log.few_episodes,
    about_log.truncation,
    about_log.horizon,
)


def diagnose(evidence: Evidence) -> list[Finding]:
    """Every doubt that fires, worst first."""
    found = [finding for check in CHECKS if (finding := check(evidence)) is not None]
    found += [Finding("method", "warning", remark, "") for remark in evidence.remarks]
    return worst_first(found)


def worst_first(findings: Sequence[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda f: SEVERITIES.index(f.severity))


def compare_methods(results: Sequence[Estimate], blind: set[str]) -> list[Estimate]:
    """The same estimates, with the doubt that methods cast on each other. `blind` methods ignore the policy."""
    return [_with(result, disagreement(result, results, blind)) for result in results]


def disagreement(result: Estimate, results: Sequence[Estimate], blind: set[str]) -> Finding | None:
    if result.method in blind or result.interval is None:
        return None
    own, apart = result.interval, []
    for other in results:
        if other.policy != result.policy or other.method in blind or other.interval is None:
            continue
        if other.interval.low > own.high or other.interval.high < own.low:
            apart.append(other)
    if not apart:
        return None
    names = ", ".join(other.method for other in apart)
    return Finding(
        "disagreement",
        "warning",
        f"{result.method} contradicts {names} beyond both intervals: at most one can be right",
        "look at which of them has the graver findings, and at the trivial baselines",
        {other.method: other.value for other in apart if other.value is not None},
    )


def _with(result: Estimate, finding: Finding | None) -> Estimate:
    if finding is None:
        return result
    diagnosis = worst_first([*result.diagnosis, finding])
    return replace(result, diagnosis=diagnosis, warnings=[f.sentence for f in diagnosis])
