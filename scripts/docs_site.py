"""What the site needs beyond the pages themselves; MkDocs calls these functions (`hooks` in mkdocs.yml).

The pages are written to be read as files, beside the code. On the site, links to files outside of docs/ lead to the
repository, pictures from there come along, and blocks that are files carry their names.
"""

import re
import tomllib
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\]\([^)]*\))*)\]\(((?:\.\./)+[^)\s]*)\)")
FILE_BLOCK = re.compile(r"^```(\w+) file=(\S+)$", re.MULTILINE)
CARRIED = "outside"  # folder of the site for pictures that do not lie in docs/


def address() -> str:
    """Of the repository, as pyproject.toml gives it."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        return str(tomllib.load(file)["project"]["urls"]["Repository"])


def on_config(config: Any) -> Any:
    """A plain link to the repository: with `repo_url`, the theme would ask its host about it on every visit."""
    config.copyright = f'<a href="{address()}">Source</a>, MIT licence'
    for shelf in config.nav:
        for entries in shelf.values():
            if isinstance(entries, list):
                entries += _unnamed(Path(config.docs_dir), entries)
    return config


def _unnamed(docs: Path, entries: list[Any]) -> list[str]:
    """Pages that lie beside those of a shelf, and that it does not name."""
    named = {path for entry in entries for path in (entry.values() if isinstance(entry, dict) else [entry])}
    folders = {PurePosixPath(path).parent for path in named} - {PurePosixPath()}
    beside = {str(page.relative_to(docs)) for folder in folders for page in (docs / folder).glob("*.md")}
    return sorted(beside - named)


def on_files(files: Files, config: Any) -> Files:
    for page in list(files.documentation_pages()):
        for picture, _, link in LINK.findall(Path(page.abs_src_path or "").read_text(encoding="utf-8")):
            target = _target(page.src_uri, link)
            if picture and target is not None:
                carried = File.generated(config, f"{CARRIED}/{target}", abs_src_path=str(ROOT / target))
                if carried.src_uri not in files.src_uris:
                    files.append(carried)
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    def lead(match: re.Match[str]) -> str:
        picture, words, link = match.groups()
        target = _target(page.file.src_uri, link)
        if target is None:
            return match[0]
        if picture:
            there = relpath(f"{CARRIED}/{target}", str(PurePosixPath(page.file.src_uri).parent))
        else:
            there = f"{address()}/blob/main/{target}{link[link.index('#') :] if '#' in link else ''}"
        return f"{picture}[{words}]({there})"

    return FILE_BLOCK.sub(r'```\1 title="\2"', LINK.sub(lead, markdown))


def _target(page: str, link: str) -> str | None:
    """Where a page's link leads, from the root of the repository; None where it stays within docs/."""
    path = normpath(str(PurePosixPath("docs", page).parent / link.partition("#")[0]))
    return None if path == "docs" or path.startswith("docs/") else path
