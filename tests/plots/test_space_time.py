"""Space-time charts: what is noted, and how it is drawn."""

import numpy as np
import pytest
from matplotlib.image import imread

import flitloom as fl
from flitloom.commands import run
from flitloom.errors import SpecError
from flitloom.run.space_time import record_space_time

CASE = ("simulate", "--torus", "8x8", "--pattern", "bcmp", "--payload", "14")


def test_only_buffers_on_the_lines_are_noted():
    """Two streams meet in row 2, at (4, 2); the same in row 0 is not on the line."""
    network = fl.Network(fl.Mesh(6, 6))
    noted = {}
    for row in (0, 2):
        at = 6 * row
        # The second one keeps the first waiting, so that the buffers on its way fill.
        packets = fl.Packets([(at + 3, at + 4, 40, 0), (at, at + 4, 40, 0)])
        noted[row] = record_space_time(fl.Simulation(network, packets))
    assert not any(values.any() for values in noted[0].values())
    busy = noted[2]
    assert not any(busy[name].any() for name in ("-x", "+y", "-y"))
    # Its packets travel towards +x and wait in the routers 3, 2 and 1, filled one after the other.
    channel = busy["+x"].sel(channel=0)
    assert channel.any("cycle").values.tolist() == [False, True, True, True, False, False]
    starts = channel.argmax("cycle").values[[3, 2, 1]]
    assert (np.diff(starts) > 0).all()


def test_a_margin_counts_more_buffers_as_busy():
    network = fl.Network(fl.Torus(8, 8))
    full, nearly = (
        record_space_time(fl.Simulation(network, fl.Collective("bcmp", payload=14)), margin=margin)
        for margin in (0, 2)
    )
    assert all((nearly[name] >= full[name]).all() for name in full)
    assert sum(int(nearly[name].sum()) for name in nearly) > sum(int(full[name].sum()) for name in full)


def test_noting_changes_nothing_and_stops_where_it_should():
    network, traffic = fl.Network(fl.Torus(6, 4, 3)), fl.Collective("torn", packets=3)
    whole = fl.simulate(network, traffic)
    simulation = fl.Simulation(network, traffic)
    simulation.run(until=7)
    busy = record_space_time(simulation, 20)
    assert (simulation.now, busy.sizes["cycle"], int(busy.cycle[0])) == (27, 20, 7)
    assert dict(busy["-z"].sizes) == {"cycle": 20, "z": 3, "channel": network.channels}
    simulation.run()
    assert simulation.totals.fingerprint == whole.fingerprint
    with pytest.raises(SpecError, match="nothing happens"):
        record_space_time(simulation)


def test_lines_pass_where_they_are_asked_to():
    network = fl.Network(fl.Mesh(6, 6))
    packets = fl.Packets([(3, 4, 40, 0), (0, 4, 40, 0)])
    busy = record_space_time(fl.Simulation(network, packets), at={"y": 0})
    # The same as in row 2 where that is the line.
    assert busy["+x"].any()
    assert busy.attrs["lines"] == "x: y=0, y: x=2"
    for places, message in (
        ({"z": 0}, "z is not a dimension"),
        ({"x": 6}, "x=6 is outside; x goes from 0 to 5"),
    ):
        with pytest.raises(SpecError, match=message):
            record_space_time(fl.Simulation(network, packets), at=places)


def test_the_title_names_the_lines(tmp_path, monkeypatch):
    from flitloom.plots import space_time

    drawn = []
    draw = space_time.compare_space_time
    monkeypatch.setattr(
        space_time, "compare_space_time", lambda *all, **more: drawn.append(draw(*all, **more)) or drawn[-1]
    )
    for options, lines in (([], "row y=2, column x=2"), (["--space-time-at", "x=5"], "row y=2, column x=5")):
        assert run([*CASE, "--space-time", str(tmp_path / "chart.png"), *options]) == 0
        assert drawn[-1][0].get_title().splitlines()[1] == lines
    assert (
        run(["simulate", "--torus", "4x4x2", "--pattern", "bcmp", "--space-time", str(tmp_path / "c.png")])
        == 0
    )
    assert drawn[-1][0].get_title().endswith("\nlines along x: y=1, z=0, y: x=1, z=0, z: x=1, y=1")


def test_a_chart_that_is_empty_says_so(tmp_path, capsys):
    words = f"simulate --torus 4x4 --pattern rand --rate 0.01 --cycles 50 --space-time {tmp_path}/chart.png"
    assert run(words.split()) == 0
    assert "chart.png is empty: no buffer is ever full along x: y=1, y: x=1" in capsys.readouterr().err
    assert run([*CASE, "--space-time", str(tmp_path / "chart.png")]) == 0
    assert "empty" not in capsys.readouterr().err


def test_the_picture_has_the_colours_of_the_busy_channels(tmp_path):
    file = tmp_path / "chart.png"
    assert run([*CASE, "--space-time", str(file)]) == 0
    dots = np.rint(255 * imread(file)[..., :3]).astype(int).reshape(-1, 3)
    colours = set(map(tuple, np.unique(dots, axis=0).tolist()))
    busy = record_space_time(fl.Simulation(fl.Network(fl.Torus(8, 8)), fl.Collective("bcmp", payload=14)))
    used = [any(busy[name].sel(channel=number).any() for name in busy) for number in range(2)]
    assert used == [True, True]
    assert {(0, 114, 178), (230, 159, 0), (255, 255, 255)} <= colours


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--space-time", "chart.gif"], "--space-time: chart.gif must end in"),
        (["--space-time", "OUT.png", "--space-time-cycles", "9:2"], "the last cycle is before the first"),
        (["--space-time", "OUT.png", "--space-time-cycles", "9-12"], "write the first and the last cycle"),
        (["--space-time", "OUT.png", "--space-time-cycles", "9000:9001"], "the run ends with cycle"),
        (["--space-time-cycles", "1:2"], "give that, too"),
        (["--space-time-at", "y=1"], "--space-time-at: says what --space-time FILE draws"),
        (["--space-time", "OUT.png", "--space-time-at", "y"], "--space-time-at: 'y' is not a place"),
        (["--space-time", "OUT.png", "--space-time-at", "y=8"], "--space-time-at: y=8 is outside"),
    ],
)
def test_requests_that_cannot_be_met(options, message, tmp_path, capsys):
    file = tmp_path / "chart.png"
    assert run([*CASE, *(str(file) if option == "OUT.png" else option for option in options)]) == 2
    assert message in capsys.readouterr().err
    assert not file.exists()
