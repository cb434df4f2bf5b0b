"""Pipelined routers are refused where they would be ignored."""

import pytest

import flitloom as fl
from flitloom.commands import run

pytestmark = pytest.mark.usefixtures("own_folder")


def test_pipelined_routers_are_refused_where_they_would_be_ignored(capsys):
    switches = ("simulate", "--network", "dragonfly(3,1,2)", "--pattern", "rand", "--rate", "0.1")
    charts = (("--html", "page.html", "pages that move"), ("--space-time", "a.png", "space-time charts"))
    for option, file, what in charts:
        assert run([*switches, "--cycles", "50", option, file]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert f"has switches, and {what} are for tori and meshes" in printed.err
    network = fl.Network(fl.Torus(4, 4), fl.Router(model="pipelined"))
    with pytest.raises(fl.SpecError, match=r"router\.model: is pipelined"):
        fl.stack(network, fl.Collective("shfl"))
