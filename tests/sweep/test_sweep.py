"""Sweeps: every row is what one simulation says; what is finished is not run again; curves are means."""

import csv
import json
import multiprocessing
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

import flitloom as fl
from flitloom.commands import run
from flitloom.jobs import Store, run_many
from flitloom.plots.curves import group
from flitloom.sweep import Sweep, read_values, run_sweep, sweep_rows
from waiting import LIMIT

LOAD = {
    "topology": {"sizes": "4x4"},
    "traffic": {"kind": "load", "pattern": "rand", "length": 4, "cycles": 200, "rate": 0.1},
}
SPEC = """
[topology]
sizes = "4x4"

[traffic]
kind = "load"
pattern = "rand"
length = 4
cycles = 200
rate = 0.1
"""


def rows_of(sweep, store):
    run_sweep(sweep.points(), store, executor=ThreadPoolExecutor(2))
    return list(sweep_rows(sweep.points(), store))


def test_every_row_is_what_a_simulation_says():
    sweep = Sweep(LOAD, {"traffic.rate": [0.1, 0.3], "router.buffer": [2, 8]}, seeds=2)
    rows = rows_of(sweep, Store(":memory:"))
    assert len(rows) == 8
    for row in rows:
        network = fl.Network(fl.Torus(4, 4), fl.Router(buffer=row["router.buffer"]))
        load = fl.Load("rand", rate=row["traffic.rate"], length=4, cycles=200)
        result = fl.simulate(network, load, seed=row["seed"])
        assert (row["duration"], row["latency"]) == (result.duration, result.mean_latency)
        assert row["outcome"] == "delivered"
    assert {row["seed"] for row in rows} == {1, 2}
    assert len({row["id"] for row in rows}) == 8


def test_what_is_finished_is_not_run_again_and_ids_depend_on_everything():
    store = Store(":memory:")
    sweep = Sweep(LOAD, {"traffic.rate": [0.1, 0.2]})
    assert run_sweep(sweep.points(), store, executor=ThreadPoolExecutor(1)) == 2
    assert run_sweep(sweep.points(), store, executor=ThreadPoolExecutor(1)) == 0
    more = Sweep(LOAD, {"traffic.rate": [0.1, 0.2, 0.3]})
    assert run_sweep(more.points(), store, executor=ThreadPoolExecutor(1)) == 1
    changed = {**LOAD, "router": {"latency": 2}}
    assert run_sweep(Sweep(changed, {}).points(), store, executor=ThreadPoolExecutor(1)) == 1


def test_outcomes_other_than_delivery_are_rows():
    ring = {"topology": {"sizes": "8"}, "router": {"channels": 1}}
    heavy = {"kind": "load", "pattern": "rand", "length": 8, "cycles": 2000, "rate": 0.9}
    rows = rows_of(Sweep({**ring, "traffic": heavy}, {"router.channels": [1, 2]}), Store(":memory:"))
    assert [row["outcome"] for row in rows] == ["deadlock", "delivered"]
    assert rows[0]["duration"] is None
    limited = Sweep({**LOAD, "cycle_limit": 50}, {})
    assert [row["outcome"] for row in rows_of(limited, Store(":memory:"))] == ["cycle limit"]


def test_values_are_lists_ranges_and_names():
    assert read_values("0.1:0.5:0.2,0.9") == [0.1, 0.3, 0.5, 0.9]
    assert read_values("2:8:3") == [2, 5, 8]
    assert read_values("shfl,torn") == ["shfl", "torn"]
    for wrong in ("1:0:1", "0:1:0", "0:1:nan", "a:b:c", "0:1e999999:1e-999999"):
        with pytest.raises(fl.SpecError, match="is not a range"):
            read_values(wrong)


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        (["router.bufer=4"], "router.bufer: unknown field; did you mean buffer?"),
        (["router.buffer=0,4"], "router.buffer: 0 is out of range"),
        (["router.buffer"], "write each field once, with its values"),
        (["traffic.rate=0:1:0.000001"], "more than 1000000 values"),
    ],
)
def test_a_wrong_grid_is_refused_before_anything_runs(grid, message, tmp_path, capsys):
    (tmp_path / "load.toml").write_text(SPEC)
    out = tmp_path / "out.csv"
    arguments = [word for entry in grid for word in ("--grid", entry)]
    assert run(["sweep", str(tmp_path / "load.toml"), *arguments, "-o", str(out)]) == 2
    assert message in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["load.toml"]


def test_a_sweep_from_the_command_line_is_resumed_and_plotted(tmp_path, capsys):
    (tmp_path / "load.toml").write_text(SPEC)
    out, picture = tmp_path / "out.csv", tmp_path / "out.svg"
    grid = ["--grid", "traffic.rate=0.1:0.2:0.1", "--grid", "router.buffer=2,4", "--seeds", "2"]
    arguments = ["sweep", str(tmp_path / "load.toml"), *grid, "--threads", "1", "-o", str(out)]
    assert run(arguments) == 0
    assert "8 simulations, 8 of them run now" in capsys.readouterr().err
    first = out.read_bytes()
    assert run([*arguments, "--json"]) == 0
    done = capsys.readouterr()
    assert "8 simulations, 0 of them run now" in done.err
    assert out.read_bytes() == first
    assert len(json.loads(done.out)) == len(list(csv.DictReader(out.read_text().splitlines()))) == 8
    plot = ["plot", str(out), "--x", "traffic.rate", "--y", "latency", "--by", "router.buffer"]
    assert run([*plot, "-o", str(picture)]) == 0
    assert "<svg" in picture.read_text()
    assert run([*plot[:-1], "router.depth", "-o", str(picture)]) == 2
    assert "there is no column 'router.depth'; there are id, traffic.rate" in capsys.readouterr().err
    assert run([*plot[:-3], "outcome", "-o", str(picture)]) == 2
    assert "outcome holds 'delivered', which is not a number" in capsys.readouterr().err


def test_points_of_curves_are_grouped_by_seed():
    rows = [
        {"rate": "0.1", "buffer": "4", "latency": "10", "seed": "1"},
        {"rate": "0.1", "buffer": "4", "latency": "14", "seed": "2"},
        {"rate": "0.2", "buffer": "4", "latency": "", "seed": "1"},
        {"rate": "0.2", "buffer": "8", "latency": "20", "seed": "1"},
    ]
    assert group(rows, "rate", "latency", ["buffer"]) == {("4",): {0.1: [10, 14]}, ("8",): {0.2: [20]}}
    long = [{"traffic.rate": 1, "mean_latency": 2, "other_latency": 3, "router.buffer": 4}]
    assert group(long, "rate", "mean_latency", ["buffer"]) == {("4",): {1: [2]}}
    with pytest.raises(fl.SpecError, match="more than one column 'latency'; there are mean_latency, other"):
        group(long, "rate", "latency", [])


def test_axes_are_taken_and_returned():
    from matplotlib.figure import Figure

    from flitloom.plots.curves import plot_curves

    ax = Figure().subplots()
    rows = [{"x": 1, "y": 2, "k": "a"}, {"x": 1, "y": 4, "k": "a"}, {"x": 2, "y": 5, "k": "a"}]
    assert plot_curves(rows, "x", "y", ["k"], ax=ax) is ax
    (line,) = ax.lines
    assert line.get_xydata().tolist() == [[1, 3], [2, 5]]


def test_ranks_of_mpi_run_a_sweep(tmp_path):
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    import shutil
    from pathlib import Path

    mpiexec = Path(sys.executable).with_name("mpiexec")
    launcher = str(mpiexec) if mpiexec.exists() else shutil.which("mpiexec")
    if launcher is None:
        pytest.skip("no mpiexec")
    (tmp_path / "load.toml").write_text(SPEC)
    out = tmp_path / "out.csv"
    command = [
        launcher, "-n", "2", sys.executable, "-m", "mpi4py.futures", "-m", "flitloom", "sweep",
        str(tmp_path / "load.toml"), "--grid", "traffic.rate=0.1,0.2", "-o", str(out), "--mpi",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 0, done.stderr
    assert "2 simulations, 2 of them run now" in done.stderr
    rows = list(csv.DictReader(out.read_text().splitlines()))
    expected = rows_of(Sweep(LOAD, {"traffic.rate": [0.1, 0.2]}), Store(":memory:"))
    assert [int(row["duration"]) for row in rows] == [row["duration"] for row in expected]


def of_two_rates():
    """A small sweep, what comes of it in this process, and an empty store."""
    sweep = Sweep(LOAD, {"traffic.rate": [0.05, 0.1]}, 2)
    here = Store(":memory:")
    run_sweep(sweep.points(), here, executor=ThreadPoolExecutor(1))
    return sweep, list(sweep_rows(sweep.points(), here)), Store(":memory:")


def without_times(rows):
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("itself", [True, False], ids=["client", "executor"])
def test_a_dask_client_runs_a_sweep(itself):
    from distributed import Client, LocalCluster

    sweep, rows, store = of_two_rates()
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        executor = client if itself else client.get_executor()
        assert run_sweep(sweep.points(), store, executor=executor) == len(rows) == 4
    assert without_times(sweep_rows(sweep.points(), store)) == without_times(rows)


def test_what_cannot_run_calls_is_refused():
    message = "executor: is not a concurrent.futures.Executor but a list; give e.g. client.get_executor()"
    network = fl.Network(fl.Torus(4, 4))
    sweep, _, store = of_two_rates()
    for call in (
        lambda: run_sweep(sweep.points(), store, executor=[]),
        lambda: fl.load.curve(network, "rand", [0.1], executor=[]),
        lambda: fl.load.saturation(network, "rand", executor=[]),
        lambda: fl.load.burst(network, "trns", 1, executor=[]),
        lambda: fl.load.ramp(network, "bcmp", executor=[]),
        lambda: fl.load.step(network, "rand", 0.1, executor=[]),
        lambda: run_many(fl.simulate, {}, executor=[]),
    ):
        with pytest.raises(fl.SpecError) as caught:
            call()
        assert str(caught.value).startswith(message)


def test_processes_run_a_sweep():
    sweep, rows, store = of_two_rates()
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as executor:
        assert run_sweep(sweep.points(), store, executor=executor) == 4
    assert without_times(sweep_rows(sweep.points(), store)) == without_times(rows)


def test_ranks_run_a_sweep(tmp_path):
    """As the page says: mpiexec, mpi4py.futures and --mpi."""
    mpiexec = Path(sys.executable).with_name("mpiexec")
    if not mpiexec.exists():
        pytest.skip("no mpiexec beside this Python (pip install flitloom[mpi])")
    assert run(["examples", "copy", "-o", str(tmp_path)]) == 0
    words = ["-m", "mpi4py.futures", "-m", "flitloom", "sweep", "load.toml", "--mpi", "-o", "out.csv"]
    words += ["--grid", "traffic.rate=0.05,0.1", "--set", "stop_at=300", "--set", "traffic.cycles=300"]
    command = [mpiexec, "-n", "3", sys.executable, *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    with open(tmp_path / "out.csv", encoding="utf-8", newline="") as file:
        rates = [row["traffic.rate"] for row in csv.DictReader(file)]
    assert rates == ["0.05", "0.1"]


def test_means_of_different_settings_are_refused(tmp_path, capsys):
    rows = tmp_path / "rows.csv"
    lines = [
        f"{rate},{buffer},{seed},{rate * buffer}" for rate in (1, 2) for buffer in (4, 8) for seed in (1, 2)
    ]
    rows.write_text("traffic.rate,router.buffer,seed,latency\n" + "\n".join(lines) + "\n")
    words = ["plot", str(rows), "--x", "traffic.rate", "--y", "latency", "-o", str(tmp_path / "p.png")]
    assert run(words) == 2
    assert capsys.readouterr().err == (
        "error: plot: rows with traffic.rate 1 differ in router.buffer (4, 8); give --by router.buffer, "
        "which makes a curve per value, or rows with one value of it\n"
    )
    assert not (tmp_path / "p.png").exists()
    assert run([*words, "--by", "router.buffer"]) == 0
