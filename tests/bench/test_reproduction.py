"""The tool behind docs/results/reproduction.md: the paper's numbers, the marks, and counts that were done by hand."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.reproduction import cells, claims, seeds, values
from benchmarks.reproduction.choices import PICKS, improvement, outcome, tally
from benchmarks.reproduction.evidence import gather
from benchmarks.reproduction.headline import draw_headline, finding
from benchmarks.reproduction.published import Number, agreement, read_independent, read_published

from ropeval.bench.results.scores import Interval
from tests.bench.studies import curve, hyper, row, runs, write_study

ROOT = Path(__file__).resolve().parents[2]
PAPER = ROOT / "benchmarks" / "paper"
DIVERGED = float("inf")
LOW, HIGH = hyper(rope__beta=0.1, rope__dim="X"), hyper(rope__beta=10.0, rope__dim="X")


class TestPublished:
    def test_the_papers_table_is_whole(self):
        paper = read_published(PAPER / "published.toml")
        assert [len(numbers) for numbers in paper.rmae.values()] == [3] * 9
        assert paper.rmae["d4rl/walker2d-medium"]["rope+fqe"] == Number(0.462, 0.093)
        lost = [(t, m) for t, numbers in paper.rmae.items() for m, n in numbers.items() if n.value == DIVERGED]
        assert len(lost) == 7
        assert ("d4rl/hopper-random", "bcrl+lspe") in lost
        assert paper.values["custom/halfcheetah"] == {"evaluated": 544.0, "behaviour": 308.0}

    def test_an_entry_that_is_no_number_is_refused_by_name(self, tmp_path):
        path = tmp_path / "published.toml"
        path.write_text('[rmae."some/task"]\nfqe = "good"\n[values]\n')
        with pytest.raises(ValueError, match=r"some/task, fqe: 'good'"):
            read_published(path)

    def test_independent_values_are_found_by_pattern(self):
        assert read_independent(PAPER / "independent.toml", "d4rl/hopper-random")["evaluated"]["discounted"] == 257.4
        assert read_independent(PAPER / "independent.toml", "tiny/pendulum") == {}


@pytest.mark.parametrize(
    ("paper", "ours", "said"),
    [
        ((0.5, 0.1), (0.5, 0.4, 0.6), "agrees: inside our interval (1.00×)"),
        ((0.5, 0.1), (0.7, 0.59, 0.8), "agrees: intervals overlap (1.40×)"),
        ((0.5, 0.0), (0.54, 0.53, 0.55), "close: within 10% (1.08×)"),
        ((0.5, 0.0), (0.6, 0.59, 0.61), "differs (1.20×)"),
        ((DIVERGED, np.nan), (DIVERGED, DIVERGED, DIVERGED), "agrees: both diverged"),
        ((DIVERGED, np.nan), (0.6, 0.5, DIVERGED), "differs: only theirs diverged"),
        ((0.5, 0.1), (DIVERGED, 0.5, DIVERGED), "differs: only ours diverged"),
    ],
)
def test_agreement(paper, ours, said):
    assert agreement(Number(*paper), Interval(*ours)) == said


@pytest.fixture
def evidence(tmp_path):
    """Truths 150 and 100, random 50 and 0: an estimate e has RMAE |e−150|/100 and |e−100|/100."""
    task, paper = "d4rl/hopper-medium", {"protocol": "paper"}
    rows = [
        *runs(task, "mean-reward", [140.0], **paper),
        *runs(task, "mean-return", [95.0], **paper),
        *runs(task, "fqe", [None] * 4, **paper),
        *runs(task, "rope+fqe", [130.0] * 4, hyper=LOW, default=False, **paper),
        *runs(task, "rope+fqe", [110.0] * 3 + [None], hyper=HIGH, default=False, **paper),
        *runs("custom/swimmer", "fqe", [150.0] * 4, **paper),
    ]
    last = row(task, "rope+fqe", 130.0, hyper=LOW, **paper)
    curves = [
        *curve(last, "rope", "feature_std", {1: 0.9, 2: 0.25}),
        *curve(last, "rope", "feature_size", {1: 0.5, 2: 1.0}),
        *curve(last, "fqe", "estimate", {1: 0.0, 2: 130.0}),
    ]
    folder = write_study(tmp_path / "study", rows, curves, protocol="paper")
    return gather([folder], PAPER / "published.toml")


class TestChoices:
    def test_best_median_and_worst(self, evidence):
        picks = [evidence.pick("mean_reward", "d4rl/hopper-medium", "rope+fqe", how) for how in PICKS]
        assert [found.value for found in picks] == pytest.approx([0.2, 0.3, 0.4])
        assert [found.hyper for found in picks] == [LOW, "", HIGH]

    def test_the_other_definition_chooses_anew(self, evidence):
        assert evidence.pick("discounted", "d4rl/hopper-medium", "rope+fqe", "best").hyper == HIGH

    def test_what_was_not_run_is_no_choice(self, evidence):
        assert evidence.pick("mean_reward", "d4rl/hopper-medium", "bcrl+lspe", "best") is None
        assert evidence.pick("mean_reward", "d4rl/hopper-random", "fqe", "best") is None

    def test_outcomes(self, evidence):
        def one(method, how="best"):
            return evidence.pick("mean_reward", "d4rl/hopper-medium", method, how)

        assert outcome(one("rope+fqe"), one("fqe")) == "better"  # whatever is finite beats what diverged
        assert outcome(one("fqe"), one("fqe")) == "undecided"  # both diverged
        assert outcome(one("rope+fqe"), one("mean-reward")) == "worse"  # 0.2 against 0.1
        assert outcome(one("bcrl+lspe"), one("fqe")) == "–"
        assert tally(["better", "worse", "–", "better"]) == "2 better, 0 undecided, 1 worse"

    def test_probability_of_improvement(self):
        found = improvement([np.array([1.0, 3.0]), np.array([np.inf])], np.array([2.0, np.inf]))
        assert found.value == pytest.approx((2 + 1 + 0.5) / 6)  # 1 beats both, 3 beats ∞, ∞ ties with ∞
        assert found.low <= found.value <= found.high


class TestPages:
    def test_cells(self, evidence):
        words = cells.cells_page(evidence)
        assert "| ROPE | 0.208 ± 0.048 | 0.200 | beta=0.1, dim=X | agrees: intervals overlap (0.96×) |" in words
        assert "| FQE | Diverged | Diverged | – | agrees: both diverged |" in words
        assert "not run are left out: d4rl/halfcheetah-random" in words
        assert "| d4rl/halfcheetah-random" not in words
        assert "missing: not run" in words  # of BCRL

    def test_claims(self, evidence):
        words = claims.claims_page(evidence)
        assert "| d4rl/hopper-medium | 4 of 4 | 1 of 8 |" in words  # diverged
        assert "| D4RL together | 4 of 4 | 1 of 8 |\n| custom together | 0 of 4 | – |" in words
        # Every run of ROPE, diverged ones too, beats or ties with FQE; none beats the log's mean reward.
        assert "| d4rl/hopper-medium | 0.94 " in words
        assert "| d4rl/hopper-medium | 2 | 2 of 2 | 0 of 2 | 2 of 2 | 0.200 | 0.300 | 0.400 | 2.0× |" in words
        # The last probe of the features; |130−140|/100 and |110−140|/100 to the trivial estimate; no feature_codes.
        assert "0.250 (0.250 … 0.250) | 1.000 (1.000 … 1.000) | – | 0.200 |" in words

    def test_values_and_seconds(self, evidence):
        assert "| custom/swimmer | 43 | 150.0 ± 1.5 (-71.3%) |" in values.values_page(
            evidence, PAPER / "independent.toml"
        )
        assert "| d4rl/hopper-medium | 1.0 (1) | 1.0 (1) | 1.0 (4) | 1.0 (8) | 4 |" in values.timings_page(evidence)

    @pytest.mark.process
    def test_a_study_that_is_not_there_is_one_line(self, tmp_path):
        command = [sys.executable, "-m", "benchmarks.reproduction", "--study", str(tmp_path / "none")]
        found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert found.returncode == 2
        assert "none: there is no such folder" in found.stderr
        assert "Traceback" not in found.stderr
        assert not found.stdout

    def test_picture(self, evidence, tmp_path):
        title, _ = finding(evidence)
        assert title.endswith("on 1 of 1 datasets")
        assert [path.name for path in draw_headline(evidence, tmp_path)] == ["headline.png", "headline.svg"]
        assert "made up; commit abc1234" in (tmp_path / "headline.svg").read_text(encoding="utf-8")

    def test_few_seeds_beside_many_and_beside_another_log(self, tmp_path):
        task, about = "d4rl/hopper-medium", {"protocol": "paper", "hyper": LOW, "default": False}
        many = runs(task, "rope+fqe", [130.0] * 5 + [120.0] * 4 + [None], **about)
        other = runs(task, "rope+fqe", [140.0] * 5, data_sha256="another log", **about)
        folders = [
            write_study(tmp_path / name, rows, protocol="paper") for name, rows in (("many", many), ("other", other))
        ]
        words = seeds.seeds_page(gather(folders, PAPER / "published.toml"))
        lines = [line for line in words.splitlines() if line.startswith(("| many | log of d", "| other | another"))]
        assert [line.split(" | ")[2:4] for line in lines] == [
            ["0–4", "0.200"], ["5–9", "0.300"], ["0–9", "0.250"], ["0–4", "0.100"],
        ]  # fmt: skip
        assert [line.split(" | ")[-1] for line in lines] == ["0 of 5 |", "1 of 5 |", "1 of 10 |", "0 of 5 |"]

    def test_the_same_seeds_again(self, tmp_path):
        task, about = "d4rl/hopper-medium", {"protocol": "paper", "hyper": LOW, "default": False}
        tries = {"before": [130.0, 140.0, 120.0, 110.0, None], "again": [131.0, 150.0, 120.0, None, None]}
        folders = []
        for name, estimates in tries.items():
            rows = runs(task, "rope+fqe", estimates, **about)
            losses = {10: 4.0, 20: 2.0} if name == "before" else {10: 4.00004, 20: 2.5}
            curves = [point for one in rows for point in curve(one, "rope", "loss", losses)]
            folders.append(write_study(tmp_path / name, rows, curves, protocol="paper"))
        elsewhere = runs(task, "rope+fqe", [1.0] * 5, data_sha256="another log", **about)
        folders.append(write_study(tmp_path / "elsewhere", elsewhere, protocol="paper"))
        words = seeds.seeds_page(gather(folders, PAPER / "published.toml"))
        assert words.count("the same seeds again") == 1  # another log is another matter
        line = next(x for x in words.split("the same seeds again")[1].splitlines() if x.startswith("| beta"))
        # Apart by 1, 10 and 0, two not to be told; between seeds 10, 20, 10, 20, 30, 10.
        # Of five errors the middle three count, half of the outer two.
        assert (
            line
            == "| beta=0.1, dim=X | 5 | 1e-05 | 25.00% | 0.010 | 0.100 | 0.150 | 0.300 | Diverged | 1 of 5 | 2 of 5 |"
        )

    def test_no_dataset_weighs_more_than_another_by_its_seeds(self, tmp_path):
        about = {"protocol": "paper", "hyper": LOW, "default": False}
        rows = [
            *runs("d4rl/hopper-medium", "rope+fqe", [130.0] * 2 + [None] * 8, **about),
            *runs("d4rl/hopper-random", "rope+fqe", [130.0] * 2, **about),
        ]
        evidence = gather([write_study(tmp_path / "study", rows, protocol="paper")], PAPER / "published.toml")
        words = claims.claims_page(evidence)
        line = next(x for x in words.split("the same by setting")[1].splitlines() if x.startswith("| ROPE"))
        assert line.startswith("| ROPE | beta=0.1, dim=X | 4 |")
        assert line.endswith("| 0 |")
