"""The list of methods."""

import pytest

from ropeval.cli.main import main


def test_the_methods_are_listed(capsys):
    with pytest.raises(SystemExit):
        main(["methods"])
    printed = capsys.readouterr().out
    assert "rope" in printed
    assert "fqe" in printed
