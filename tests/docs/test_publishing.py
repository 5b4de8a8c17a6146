"""What others see of the project: the README away from its files, the addresses, how to cite."""

import re
import tomllib
from pathlib import Path

from ropeval.version import __version__

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ADDRESS = PROJECT["project"]["urls"]["Repository"]


def test_the_readme_as_others_show_it_has_absolute_links_to_files_that_exist():
    words = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.search(r"\]\(docs/", words)  # else this tests nothing
    for rule in PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        words = re.sub(rule["pattern"], rule["replacement"], words)
    links = re.findall(r"\]\(([^)\s]+)", words)
    assert [link for link in links if not link.startswith("https://")] == []
    raw = ADDRESS.replace("github.com", "raw.githubusercontent.com")
    ours = [link.partition("#")[0] for link in links if link.startswith((f"{ADDRESS}/blob/main/", f"{raw}/main/"))]
    assert len(ours) > 30
    assert [link for link in ours if not (ROOT / link.split("/main/", 1)[1]).exists()] == []
    pictures = re.findall(r"!\[[^\]]*\]\(([^)\s]+)", words)
    assert [link for link in pictures if not link.startswith(f"{raw}/main/")] == []  # the page around it is no picture


def test_the_citation_names_this_version_and_address():
    words = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {__version__}\n" in words
    assert f"\nrepository-code: {ADDRESS}\n" in words


def test_all_addresses_are_of_one_place():
    urls = PROJECT["project"]["urls"]
    assert {urls[name].startswith(ADDRESS) for name in ("Changelog", "Issues")} == {True}
