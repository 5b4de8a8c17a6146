"""Follows every link of the built site that stays on it: to a file that is there, and to a place that the file has.

python scripts/check_site.py site
"""

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Links(HTMLParser):
    """What a page leads to and loads, and the places that others can lead to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.leads: list[str] = []
        self.loads: list[str] = []
        self.places: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attributes}
        self.places |= {known[name] for name in ("id", "name") if name in known}
        if "href" in known:
            canonical = tag == "link" and known.get("rel") in ("canonical", "prev", "next")
            (self.leads if tag == "a" or canonical else self.loads).append(known["href"])
        if "src" in known:
            self.loads.append(known["src"])


@cache
def links(page: Path) -> Links:
    return Links(page)


def broken(site: Path) -> list[str]:
    """`PAGE: LINK` for what leads nowhere, and for what would be loaded from elsewhere."""
    found = []
    for page in sorted(site.rglob("*.html")):
        own = links(page)
        for link in [*own.leads, *own.loads]:
            parts = urlsplit(link)
            if parts.scheme == "data" or (parts.scheme and link in own.leads):
                continue
            if parts.scheme or parts.netloc or not _leads_somewhere(site, page, parts.path, unquote(parts.fragment)):
                found.append(f"{page.relative_to(site)}: {link}")
    return found


def _leads_somewhere(site: Path, page: Path, path: str, place: str) -> bool:
    start = site if path.startswith("/") else page.parent
    target = (start / unquote(path).lstrip("/")).resolve() if path else page
    target = target / "index.html" if target.is_dir() else target
    return target.is_file() and (not place or target.suffix != ".html" or place in links(target).places)


if __name__ == "__main__":
    lost = broken(Path(sys.argv[1]).resolve())
    print("\n".join(lost) or f"{sys.argv[1]}: every link leads somewhere")
    sys.exit(bool(lost))
