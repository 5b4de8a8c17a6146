"""The palette: who gets which style, and colours that can be told apart and read."""

import pytest

from ropeval.report.palette import COLOURS, DARK, GREY, INK, LIGHT, Palette


def test_a_method_s_style_depends_on_the_order_alone_and_no_two_are_the_same():
    methods = [f"m{i}" for i in range(20)]
    palette = Palette(["base", *methods], baselines=["base", "absent"])
    styles = [palette[m] for m in ["base", *methods]]
    assert len(set(styles)) == len(styles)
    assert palette["base"].colour == GREY
    assert all(palette[m].colour != GREY for m in methods)
    assert Palette(methods)["m3"] == palette["m3"]


def test_a_baseline_has_a_sign_of_its_own():
    palette = Palette(["mean-reward", "mean-return", "fqe", "lspe"], ["mean-reward", "mean-return"])
    signs = [palette[m].symbol for m in ("mean-reward", "mean-return", "fqe", "lspe")]
    assert len(set(signs)) == 4


def contrast(one: str, other: str) -> float:
    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_contrasts_satisfy_wcag_aa(colours):
    assert colours.keys() == LIGHT.keys()
    for paper in (colours["paper"], colours["raised"]):
        for words in ("ink", "muted", "accent", "severe", "warning", "note", "good"):
            assert contrast(colours[words], paper) >= 4.5, words
    for series in (*COLOURS, GREY, INK):  # 3 would do; names are set in them, too
        assert contrast(colours[series], colours["paper"]) >= 4.5, series
