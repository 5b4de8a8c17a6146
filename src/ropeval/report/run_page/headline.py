"""The answer in one sentence, and the method that it is taken from."""

from collections import Counter
from collections.abc import Sequence

from ropeval.evaluation.result import SEVERITIES, Estimate, Severity
from ropeval.evaluation.verdict.one_answer import Answer, answers, as_answer
from ropeval.report.labels import counted, number
from ropeval.report.run_page.outcome import BASELINES, Outcome, findings, worst
from ropeval.report.versus import versus_sentence

SPOKEN: dict[Severity, str] = {"severe": "severe finding", "warning": "warning"}  # counted in the sentence


def headline_answers(outcome: Outcome) -> list[Answer]:
    """The number to go by for each policy, the best first. Runs from before there were verdicts have one method's."""
    if any(e.verdict for e in outcome.estimates):
        return sorted(answers(outcome.estimates), key=lambda one: -one.value)
    method = _least_doubted(outcome)
    own = [e for e in outcome.estimates if e.method == method and e.value is not None]
    return sorted((as_answer(e) for e in own), key=lambda one: -one.value)


def headline_method(outcome: Outcome) -> str | None:
    """The method that has the most weight in the answer about the best policy."""
    found = headline_answers(outcome)
    return max(found[0].methods, key=lambda name: found[0].methods[name]) if found else None


def _least_doubted(outcome: Outcome) -> str | None:
    """Learned rather than trivial, then the one with least against it.

    A method that contradicts two others has more against it than each of those. Without the truth nobody can say which
    method is right: this is a rule for reading, and the page says so.
    """

    def rank(method: str) -> tuple[bool, int, int]:
        own = [e for e in outcome.estimates if e.method == method]
        weight = sum(worst(e) + len(contradicting(e)) for e in own)
        return method in BASELINES, max(map(worst, own)), weight

    answered = [m for m in outcome.methods if any(e.method == m and e.value is not None for e in outcome.estimates)]
    return min(answered, key=rank, default=None)


def best_first(results: Sequence[Estimate]) -> list[Estimate]:
    """Policies by the value that this method gives them; the methods of a policy stay in their order."""
    values = {one.policy: one.value for one in headline_answers(Outcome(list(results)))}
    return sorted(results, key=lambda r: (r.policy not in values, -values.get(r.policy, 0.0)))


def contradicting(estimate: Estimate) -> list[str]:
    """The methods whose intervals for the same policy lie elsewhere."""
    return [name for f in findings(estimate) if f.code == "disagreement" for name in f.numbers]


def guesses(estimates: Sequence[Estimate]) -> set[str]:
    """The methods that have nothing but a guess."""
    return {e.method for e in estimates if e.verdict and e.verdict.word == "guess"}


def short_answer(outcome: Outcome) -> str:
    """The same in a line, for the top of a page that says the rest below: who, how much, and how far to rely on it."""
    found = headline_answers(outcome)
    first = found[0] if found else None
    if first is None or first.verdict is None:
        return answer(outcome)
    interval = ""
    if first.low is not None and first.high is not None:
        interval = f" ({number(first.low)} to {number(first.high)})"
    most = f", the most of {len(outcome.policies)} policies" if len(outcome.policies) > 1 else ""
    words = {"supported": "the log supports it", "partly": "the log supports it in part", "guess": "it is a guess"}
    relied = words.get(first.verdict.word, first.verdict.word)
    return f"{first.policy} would earn about {number(first.value)}{interval}{most}; {relied}."


def answer(outcome: Outcome) -> str:
    """Who earns what, how sure that is, and whether something speaks against it: one sentence."""
    found, method = headline_answers(outcome), headline_method(outcome)
    if method is None:
        return "There is no answer: every estimate diverged."
    first = found[0]
    best = next(e for e in outcome.of(first.policy) if e.method == method)
    who = " and ".join(first.methods) + (" together" if len(first.methods) > 1 else "")
    value = f"about {number(first.value)}{_sure(best, first)}"
    if len(outcome.policies) == 1:
        sentence = f"{best.policy} would earn {value} according to {who}"
    elif method in BASELINES:
        sentence = f"The log alone tells no policy from another: {method} gives all of them {value}"
    else:
        sentence = f"Of {len(outcome.policies)} policies, {best.policy} would earn the most, {value} according to {who}"
        ranking = next((r for r in outcome.rankings if r.method == method and best.policy in r.policies), None)
        if ranking is not None:
            probability = ranking.best[ranking.policies.index(best.policy)]
            sentence += f", and is the best of them with {_chance(probability)}"
    over_log = f"; that is {versus_sentence(best.versus_log)}" if best.versus_log is not None else ""
    relied = f"; {first.verdict.sentence}" if first.verdict else ""
    return f"{sentence}{over_log}{relied}; {_against(outcome, best)}."


def _chance(probability: float) -> str:
    return "a probability of more than 0.99" if probability > 0.995 else f"probability {probability:.2f}"


def _sure(estimate: Estimate, chosen: Answer) -> str:
    if estimate.interval is not None and chosen.low is not None and chosen.high is not None:
        low, high = number(chosen.low), number(chosen.high)
        return f" ({estimate.interval.level:.0%} interval {low} to {high})"
    if estimate.lowest is not None and estimate.highest is not None and estimate.lowest < estimate.highest:
        return f" (members from {number(estimate.lowest)} to {number(estimate.highest)})"
    return ""


def _against(outcome: Outcome, best: Estimate) -> str:
    """What speaks against the number that the sentence gives, and against no other."""
    counts = Counter(f.severity for f in findings(best) if f.code != "disagreement")
    told = [counted(counts[s], word) for s, word in SPOKEN.items() if counts[s]]
    others = contradicting(best)
    words = []
    if told:
        alone = sum(counts[s] for s in SPOKEN) == 1
        words.append(f"{' and '.join(told)} {'speaks' if alone else 'speak'} against it")
    if others:
        severe = {e.method for e in outcome.of(best.policy) if any(f.severity == SEVERITIES[0] for f in findings(e))}
        one, own = len(others) == 1, ""
        if severe.issuperset(others):
            own = f" but {'has' if one else 'have'} severe findings of {'its' if one else 'their'} own"
        elif guesses(outcome.of(best.policy)).issuperset(others):
            own = " but is a guess itself" if one else " but are guesses themselves"
        words.append(f"{' and '.join(others)} {'contradicts' if one else 'contradict'} it{own}")
    return ", and ".join(words) or "no warning speaks against it"
