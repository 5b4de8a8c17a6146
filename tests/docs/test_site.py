"""The documentation as a site: it builds without a warning, its links lead somewhere, nothing comes from elsewhere."""

import importlib.util
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.report.conftest import browser  # noqa: F401  the same browser as for the pages of results

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("mkdocs", reason="mkdocs is not installed (pip install 'ropeval[docs]')")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)  # strict: a warning fails
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def check_site():
    spec = importlib.util.spec_from_file_location("check_site", ROOT / "scripts" / "check_site.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.process
def test_every_link_leads_somewhere_and_every_page_leads_on(site, check_site):
    assert check_site.broken(site) == []
    pages = [page for page in site.rglob("index.html") if page.parent.name != "api"]
    assert len(pages) > 35
    assert [page for page in pages if "md-footer__link--next" not in page.read_text(encoding="utf-8")] == []


def test_a_link_to_nowhere_and_a_load_from_elsewhere_are_found(tmp_path, check_site):
    (tmp_path / "a.html").write_text(
        '<p id="x"><a href="#x">1</a><a href="#y">2</a><a href="b.html">3</a><a href="https://example.org">4</a>'
        '<img src="https://example.org/i.png">'
    )
    assert check_site.broken(tmp_path) == ["a.html: #y", "a.html: b.html", "a.html: https://example.org/i.png"]


@pytest.mark.process
def test_the_reference_shows_docstrings_and_their_examples(site):
    page = (site / "reference" / "api" / "index.html").read_text(encoding="utf-8")
    for name in ("compare", "evaluate", "load_dataset", "load_policy", "Estimate", "Policy"):
        assert f'id="ropeval.{name}"' in page
    assert "every member's estimate; None where it is not a finite number" in page  # a field's comment
    assert '<span class="gp">' in page  # an example, set as one


@pytest.fixture
def address(site):
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


@pytest.mark.process
def test_a_reader_finds_and_nothing_comes_from_elsewhere(browser, address):  # noqa: F811
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    asked, complaints = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(address)
    page.locator(".md-search__input").click()
    page.keyboard.type("propensities")
    page.locator(".md-search-result__item a", has_text="Medicine").first.click(timeout=20_000)
    page.wait_for_url("**/gallery/medicine/**")
    assert page.locator("article img").evaluate_all("all => all.every((i) => i.complete && i.naturalWidth > 300)")
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []
    assert complaints == []
    page.close()
