"""Comparisons of algorithms name the network that they are of."""

import json

from flitloom.commands import run


def test_advice_for_a_twisted_torus_names_it(capsys):
    words = ["collective", "advise", "--torus", "2x4", "--size", "1KiB", "--json"]
    assert run(words) == 0
    plain = json.loads(capsys.readouterr().out)["network"]
    assert run([*words, "--twist"]) == 0
    assert json.loads(capsys.readouterr().out)["network"] == "2x4 twisted torus" != plain
