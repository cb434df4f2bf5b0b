"""Results: their records agree with each other, with themselves after a file, and with hand counts."""

import json

import numpy as np
import pytest
import xarray as xr

import flitloom as fl

NET = fl.Network(fl.Torus(4, 4, 2))
TRAFFIC = fl.Collective("rand", payload=11, slices=3, interval=9, packets=2)


@pytest.fixture(scope="module")
def result():
    return fl.simulate(NET, TRAFFIC, seed=5, packets=True, link_time=True)


def test_records_agree(result):
    assert result.links.flits.sum() == result.flit_hops
    assert (result.link_time.to_numpy() % 255 > 0).sum() == result.flit_hops
    assert result.links.occupation.max() == result.effective_thickness
    assert (result.packets.hops * TRAFFIC.slice_length).sum() == result.flit_hops
    assert result.packets.tail_arrival.max() + 2 == result.duration
    latency = (result.packets.tail_arrival + 2 - result.packets.generated).mean()
    assert latency.item() == pytest.approx(result.mean_latency)
    assert result.lower_bound <= result.duration


def test_links_are_labelled_by_coordinates():
    single = fl.simulate(NET, fl.Packets([(0, 3, 4, 0)]))
    link = single.links.sel(x=0, y=0, z=0, direction="-x")
    assert (link.first, link.last, link.flits, link.occupation) == (0, 3, 4, 4)
    assert single.links.flits.sum() == 4
    assert not single.links.works.sel(z=1, direction="+z").any()


def test_a_single_packet_takes_hops_plus_flits_plus_one():
    single = fl.simulate(NET, fl.Packets([(0, 1 + 4 + 16, 7, 0)]))
    assert single.duration == 3 + 7 + 1 == single.lower_bound


def test_a_record_taken_later_is_the_same(result):
    later = fl.simulate(NET, TRAFFIC, seed=5, links=False)
    xr.testing.assert_identical(later.link_time, result.link_time)
    xr.testing.assert_identical(later.packets, result.packets)
    xr.testing.assert_identical(later.links, result.links)
    assert later.fingerprint == result.fingerprint


def test_the_seed_decides():
    load = fl.Load("rand", rate=0.3, length=4, cycles=300)
    first, again, other = (fl.simulate(NET, load, seed=seed) for seed in (1, 1, 2))
    assert first.fingerprint == again.fingerprint != other.fingerprint


def test_netcdf_names_the_links_between_switches(tmp_path):
    file, result = tmp_path / "result.nc", fl.simulate("dragonfly(3,1,2)", fl.Collective("next"))
    result.to_netcdf(file)
    with xr.open_datatree(file, engine="h5netcdf") as read:
        links = read["links"].to_dataset().load()
    rows = {row["link"]: row for row in result.link_rows()}
    used = links.where(links.flits > 0, drop=True)
    assert set(used.link.values.tolist()) == set(rows)
    for name, row in rows.items():
        at = links.sel(link=name)
        found = [int(at[column]) for column in ("first", "last", "flits", "occupation")]
        assert found == [row[column] for column in ("first", "last", "flits", "occupation")]
    assert int(links.flits.sum()) == result.flit_hops > 0
    assert bool(links.works.all())
    assert links.sizes == {"link": 36}
    assert fl.Network(file).topology.is_as(fl.Network("dragonfly(3,1,2)").topology)


def test_netcdf_keeps_everything(result, tmp_path):
    file = tmp_path / "result.nc"
    result.to_netcdf(file)
    with xr.open_datatree(file, engine="h5netcdf") as tree:
        assert tree.attrs["duration"] == result.duration
        assert tree.attrs["version"] == fl.__version__
        assert json.loads(tree.attrs["spec"]) == result.spec.model_dump(mode="json")
        np.testing.assert_array_equal(tree["links"].flits, result.links.flits)
        np.testing.assert_array_equal(tree["link_time"].link_time, result.link_time)
    assert [path.name for path in tmp_path.iterdir()] == ["result.nc"]


def test_json_keeps_the_spec(result, tmp_path):
    file = tmp_path / "result.json"
    result.to_json(file)
    values = json.loads(file.read_text())
    assert values["duration"] == result.duration
    again = fl.run_experiment(fl.Experiment.model_validate(values["spec"]))
    assert again.fingerprint == values["fingerprint"]


def test_a_chart_is_written_whole_or_not_at_all(result, tmp_path):
    result.plot_link_time(tmp_path / "chart.png")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")
    for bad in ("chart.gif", "none/chart.png", "."):
        with pytest.raises(fl.SpecError, match="output: "):
            result.plot_link_time(tmp_path / bad)
    assert [path.name for path in tmp_path.iterdir()] == ["chart.png"]


def test_named_outcomes():
    torus = fl.Torus(4, 4, failed_links=["0-1"])
    with pytest.raises(fl.UnreachableError) as unreachable:
        fl.simulate(fl.Network(torus), fl.Packets([(0, 1, 3, 0), (2, 3, 3, 0)]))
    assert unreachable.value.pairs == [(0, 1)]
    with pytest.raises(fl.CycleLimitError) as limit:
        fl.simulate(NET, TRAFFIC, cycle_limit=10)
    assert limit.value.cycles == 10
    # Five nodes of a ring with a single channel, each sending two hops on: every buffer waits for the next.
    ring = fl.Network(fl.Torus(5), fl.Router(channels=1))
    with pytest.raises(fl.DeadlockError) as deadlock:
        fl.simulate(ring, fl.Collective(destinations=[2, 3, 4, 0, 1], payload=30))
    nodes = [channel["node"] for channel in deadlock.value.channels]
    assert sorted(set(nodes)) == [0, 1, 2, 3, 4]
    assert deadlock.value.stuck_flits > 0


def test_stacking_finds_the_best_of_its_curve():
    net = fl.Network(fl.Torus(8, 8))
    collective = fl.Collective("brot", payload=14, slices=2)
    stacking = fl.stack(net, collective, threads=2)
    assert stacking.duration == min(stacking.durations)
    assert fl.simulate(net, stacking.best).duration == stacking.duration
    assert stacking.durations == fl.stack(net, collective, threads=1).durations
    assert stacking.lower_bound <= stacking.duration


def test_a_stacking_has_the_bound_of_its_best_interval_as_a_simulation_has():
    net = fl.Network(fl.Torus(16, 16))
    shuffle = fl.Collective("shfl", payload=14, slices=2)
    stacking = fl.stack(net, shuffle, intervals=[8, 58, 90])
    assert stacking.interval == 58
    assert stacking.row()["bound"] == fl.simulate(net, stacking.best).lower_bound == 120
    # Slices that leave back to back have less.
    assert fl.lower_bound(net, shuffle) == 118


def test_times_of_routers_with_output_registers_are_those_of_the_page():
    """docs/router.md: what links do in cycle t + 1 has the time t, so a lone packet has the usual times."""
    times = {}
    for variant in ("queues", "registers"):
        network = fl.Network(fl.Torus(8, 8), fl.Router(variant=variant))
        result = fl.simulate(network, fl.Packets(table=[[0, 26, 5, 0, 0]]), packets=True, link_time=True)
        table = result.packets
        assert result.duration == table.tail_arrival.max() + 2
        # Five hops and the processor after the crossbar of cycle 0, then a flit per cycle.
        fields = ("injected", "head_arrival", "tail_arrival")
        times[variant] = [int(table[field].values[0]) for field in fields]
        east = result.link_time.sel(direction="+x").values[:, 0]
        assert east.nonzero()[0].tolist() == [0, 1, 2, 3, 4]
    assert times["queues"] == times["registers"] == [0, 5, 9]


@pytest.mark.parametrize("variant", ["queues", "registers"])
def test_fingerprints_are_sums_over_tails(variant):
    """A share per ejected tail, mixed from its cycle and node; stored results rely on it."""

    def share(cycle, node):
        key = cycle * 0x9E3779B97F4A7C15 % 2**64 ^ node * 0xC2B2AE3D27D4EB4F % 2**64
        key = (key ^ key >> 32) * 0xD6E8FEB86659FD93 % 2**64
        return key ^ key >> 32

    network = fl.Network(fl.Torus(8, 8), fl.Router(variant=variant))
    result = fl.simulate(network, fl.Load("rand", rate=0.4, cycles=300), packets=True)
    tails = zip(result.packets.tail_arrival.values, result.packets.destination.values, strict=True)
    total = sum(share(int(cycle), int(node)) for cycle, node in tails) % 2**64
    assert int(result.fingerprint, 16) == total
