"""Charts on paper: written whole, whatever the names are."""

import numpy as np
import pytest
from matplotlib import image

from ropeval.report.chart import Entry, Mark, Panel, Series
from ropeval.report.draw_paper import draw
from ropeval.report.palette import LIGHT, Style
from tests.report.test_chart import STEPS, chart


def test_a_chart_on_paper(tmp_path):
    png, pdf = draw(chart(), tmp_path, ["png", "pdf"], "made with a command on a device at commit abc1234")
    assert png.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert b"abc1234" in png.read_bytes()
    assert pdf.read_bytes()[:5] == b"%PDF-"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["$x_1$ $", "\\frac{", "名前", "a\nb", "x" * 300, ""])
def test_any_name_can_be_drawn(tmp_path, name):
    style = Style("c1")
    panel = Panel(name, [Series(name, style, STEPS, STEPS)], [Mark(name, style, np.inf)])
    made = chart(panels=[panel], legend=[Entry(name, style)], title=f"t {name}", x_names=[name], y_log=False)
    assert draw(made, tmp_path, ["png"], name)[0].exists()


def has(picture: np.ndarray, colour: str) -> bool:
    wanted = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return bool((np.abs(picture[..., :3] - wanted).max(axis=-1) < 0.02).any())


def test_a_chart_with_names_on_its_axis_and_bars_across(tmp_path):
    """The bar of the first lies along the horizontal axis: its colour stands far to the right of its point."""
    low, high = np.array([0.0]), np.array([9.0])
    point = Series("m", Style("c1"), np.array([1.0]), np.array([0.0]), low, high, kind="points")
    far = Series("n", Style("c2"), np.array([-50.0, np.inf]), np.array([1.0, 1.0]), kind="dots")
    made = chart(
        panels=[Panel("p", [point, far], x_range=(0.0, 10.0))], y_names=["$one", "two"], y_log=False, y_range=None,
        legend=[],
    )  # fmt: skip
    picture = image.imread(draw(made, tmp_path, ["png"], "")[0])
    middle = picture[:, picture.shape[1] // 2 :]
    assert has(middle, LIGHT["c1"])
    assert has(picture, LIGHT["c2"])  # an arrow at either edge


def test_one_scale_for_all_panels_and_shares_in_per_cent(tmp_path):
    panels = [Panel(name, [Series("m", Style("c1"), STEPS * k, STEPS / 3)]) for k, name in ((1, "a"), (9, "b"))]
    same = chart(panels=panels, y_log=False, y_range=(0.0, 1.0), same_x=True, y_percent=True, columns=1)
    apart = chart(panels=panels, y_log=False, y_range=(0.0, 1.0), y_percent=True, columns=1)
    one, other = (image.imread(draw(c, tmp_path / n, ["png"], "")[0]) for n, c in (("same", same), ("own", apart)))
    height, width = one.shape[:2]  # the first panel's line is a ninth as long as the second's
    assert not has(one[: height // 2, width // 2 :], LIGHT["c1"])
    assert has(other[: height // 2, width // 2 :], LIGHT["c1"])
