"""The root of the command line: completion."""

import os
import subprocess
import sys

import pytest


@pytest.mark.process
@pytest.mark.parametrize(("typed", "found"), [("ropeval ca", "card"), ("ropeval evaluate --hor", "--horizon")])
def test_a_shell_completes_verbs_and_options(typed, found):
    words = {
        "_ROPEVAL_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "ropeval"], env=os.environ | words, capture_output=True, text=True, timeout=120
    )
    assert found in done.stdout.split()
