"""What is read from libFuzzer's words; the fuzzing itself needs Atheris."""

from tests.fuzz.guided import reached

SAID = """INFO: seed corpus: files: 501 min: 1b max: 27428b
#502\tINITED cov: 16 ft: 24 corp: 6/94b exec/s: 502 rss: 385Mb
#519\tNEW    cov: 17 ft: 25 corp: 7/95b lim: 65536
"""


def test_what_guidance_adds_is_the_end_beyond_the_start():
    assert reached(SAID + "#6659\tDONE   cov: 20 ft: 28 corp: 8/84b") == ((502, 16), (6659, 20))
    assert reached(SAID) == ((502, 16), (502, 16))
