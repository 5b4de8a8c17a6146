"""`ropeval bench report` as a user meets it."""

import pytest
import typer
from typer.testing import CliRunner

from ropeval.cli import bench_report
from ropeval.errors import UserError
from tests.bench.studies import small_study


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


def test_what_is_no_study_is_refused_in_words(app, tmp_path):
    with pytest.raises(UserError, match=r"no study\.json"):
        CliRunner().invoke(app, [str(tmp_path)], catch_exceptions=False)
    assert not (tmp_path / "report").exists()


def test_the_help_teaches(app):
    words = CliRunner().invoke(app, ["--help"]).stdout
    for term in ("RMAE", "chosen with the truth", "baselines", "docs/reporting.md", "Examples"):
        assert term in words
