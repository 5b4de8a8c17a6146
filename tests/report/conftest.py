"""A real browser for the pages. Where there is none the tests are skipped, and say why."""

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET = [
    "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update",
    "--disable-default-apps", "--disable-sync", "--no-first-run", "--no-pings",
]  # fmt: skip


@dataclass
class Opened:
    """A page in the browser, with all that it asked for and all that it complained about."""

    page: Any
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def until(self, expression: str, expected: Any, patience: int = 10_000) -> None:
        """Wait for a value. The driver's own way of waiting is an `eval`, which the page's rules forbid."""
        for _ in range(patience // 50):
            if self.page.evaluate(expression) == expected:
                return
            self.page.wait_for_timeout(50)
        assert self.page.evaluate(expression) == expected


@pytest.fixture(scope="module")  # the driver keeps an event loop running, which no other test should meet
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="the playwright package is not installed")
    found = os.environ.get("ROPEVAL_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip(f"no browser here: none of {', '.join(NAMES)} is on the path, and ROPEVAL_CHROMIUM is not set")
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0  # Chromium's sandbox refuses to run as root
    with playwright.sync_playwright() as driver:
        try:
            chromium = driver.chromium.launch(executable_path=found, chromium_sandbox=not as_root, args=QUIET)
        except playwright.Error as error:
            if "ROPEVAL_CHROMIUM" in os.environ:
                raise
            pytest.skip(f"{found} does not start here: {str(error).splitlines()[0]}")
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Opened]]:
    """Opens HTML from a file, as a reader does; options are those of a browser context (colour scheme, size, …)."""
    contexts = []

    def open_it(html: str, **options: Any) -> Opened:
        file = tmp_path / "page.html"
        file.write_text(html, encoding="utf-8")
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
        contexts.append(context)
        opened = Opened(context.new_page())
        opened.page.on("request", lambda request: opened.requests.append(request.url))
        opened.page.on("console", lambda message: opened.complaints.append(f"{message.type}: {message.text}"))
        opened.page.on("pageerror", lambda error: opened.complaints.append(str(error)))
        opened.page.goto(file.as_uri())
        opened.page.wait_for_selector("html.drawn", timeout=20_000)
        return opened

    yield open_it
    for context in contexts:
        context.close()
