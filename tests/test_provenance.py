"""Where numbers come from."""

import subprocess
from email.message import Message
from importlib.metadata import PackageNotFoundError

import pytest

from ropeval import provenance


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.delenv("ROPEVAL_COMMIT", raising=False)
    provenance.commit.cache_clear()
    yield
    provenance.commit.cache_clear()


def test_the_commit_is_that_of_the_code_wherever_one_stands(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    folder = provenance.__file__.rpartition("/")[0]
    asked = subprocess.run(["git", "-C", folder, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    if asked.returncode:
        pytest.skip("not a checkout")
    assert provenance.commit().removesuffix("-dirty") == asked.stdout.strip()


def test_a_copy_is_told_its_commit_and_may_not_know_it(monkeypatch):
    monkeypatch.setenv("ROPEVAL_COMMIT", "abc1234")
    assert provenance.commit() == "abc1234"
    monkeypatch.delenv("ROPEVAL_COMMIT")
    provenance.commit.cache_clear()
    monkeypatch.setenv("PATH", "")
    assert provenance.commit() == "unknown"


def test_the_documentation_is_where_the_package_says(monkeypatch):
    said = Message()
    said["Project-URL"] = "Issues, https://example.org/issues"
    said["Project-URL"] = "Documentation, https://example.org/docs, all of it"
    monkeypatch.setattr(provenance, "metadata", lambda name: said)
    assert provenance.documentation() == "https://example.org/docs, all of it"

    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(provenance, "metadata", missing)
    assert provenance.documentation() == "docs/README.md"
