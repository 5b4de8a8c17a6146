"""`ropeval bench report` as a user meets it."""

import pytest
import typer
from typer.testing import CliRunner

from ropeval.cli import bench_report
from ropeval.errors import UserError
from tests.bench.studies import row, runs, small_study, write_study


@pytest.fixture
def app():
    made = typer.Typer()
    made.command(epilog=bench_report.EPILOG)(bench_report.report)
    return made


def test_a_report_stands_beside_the_rows(app, tmp_path):
    folder = small_study(tmp_path / "study")
    result = CliRunner().invoke(app, [str(folder), "--format", "md, csv"], catch_exceptions=False)
    assert result.exit_code == 0
    assert (folder / "report" / "report.md").is_file()
    assert not (folder / "report" / "report.html").exists()
    assert "report.md" in result.stdout


def test_several_studies_are_read_together(app, tmp_path):
    first = small_study(tmp_path / "first")
    rows = runs("made/one", "new", [101.0] * 4, data_sha256="second log", truth_discounted=100.5)
    second = write_study(tmp_path / "second", rows, name="second")
    result = CliRunner().invoke(app, [str(first), str(second), "--format", "md"], catch_exceptions=False)
    assert result.exit_code == 0
    words = (first / "report" / "report.md").read_text(encoding="utf-8")
    assert "made/one: 2 logs, collected anew from the same policies" in words
    assert "new from second l" in words
    assert "ropeval bench report first second" in words
    assert "| made/one | 0.100 | 0.400 | 0.025 | 0.315 · 0.025† | **0.010** |" in words  # against the first one's truth
    assert not (second / "report").exists()
    other = write_study(tmp_path / "other", [row("made/one", "new", 1.0, gamma=0.5)])
    with pytest.raises(UserError, match="another question"):
        CliRunner().invoke(app, [str(first), str(other), "--format", "md"], catch_exceptions=False)


def test_what_is_no_study_is_refused_in_words(app, tmp_path):
    with pytest.raises(UserError, match=r"no study\.json"):
        CliRunner().invoke(app, [str(tmp_path)], catch_exceptions=False)
    assert not (tmp_path / "report").exists()


def test_the_help_teaches(app):
    words = CliRunner().invoke(app, ["--help"]).stdout
    for term in ("RMAE", "chosen with the truth", "baselines", "docs/guide/studies.md", "Examples"):
        assert term in words
