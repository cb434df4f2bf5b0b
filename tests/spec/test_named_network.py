"""A spec whose network is a text, as ``--network`` takes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import flitloom as fl
from flitloom.campaign import parse_campaign, read_campaign
from flitloom.networks.experiment import build_experiment
from flitloom.sweep.points import Sweep
from verbs import answer

COLLECTIVE = '\n[traffic]\nkind = "collective"\npattern = "next"\n'
PIPELINED = '\n[router]\nmodel = "pipelined"\n'
#: A text, the table that says the same, and what else the spec says.
TEXTS = {
    "torus": ("8x8", 'kind = "torus"\nsizes = [8, 8]', ""),
    "mesh": ("mesh 4x3", 'kind = "mesh"\nsizes = "4x3"', ""),
    "twisted": ("twisted 4x4x8", "sizes = [4, 4, 8]\ntwist = true", ""),
    "product": ("full4 x ring3", 'network = "full4 x ring3"', ""),
    "pipelined product": ("full4 x ring3", 'network = "full4 x ring3"', PIPELINED),
    "family": ("dragonfly(3,1,2)", 'network = "dragonfly(3,1,2)"', PIPELINED),
    "cables": ("nets/ring.csv", 'graph = "nets/ring.csv"', PIPELINED),
    "plan": ("plan.json", 'kind = "mesh"\nsizes = [4, 4]', ""),
    "experiment": ("other.toml", 'kind = "mesh"\nsizes = [3, 4]', ""),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file of cables, a plan on a 4x4 mesh and an experiment on a 3x4 one."""
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "ring.csv").write_text("a,b\nb,c\nc,d\nd,a\n")
    fl.plans.search("mesh 4x4", fl.Collective("next"), method="greedy").save(tmp_path / "plan.json")
    (tmp_path / "other.toml").write_text(f'[topology]\nkind = "mesh"\nsizes = "3x4"\n{COLLECTIVE}')
    return tmp_path


def written(folder: Path, head: str, name: str = "spec.toml") -> Path:
    (folder / name).write_text(head + COLLECTIVE)
    return folder / name


def points(experiment: fl.Experiment) -> list[str]:
    """The ids of the jobs of a sweep over an experiment."""
    fields = json.loads(experiment.model_dump_json(exclude_none=True))
    return [point.id for point in Sweep(fields, {"router.buffer": [4, 8]}).points()]


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_says_what_the_table_says(name: str, folder: Path) -> None:
    text, table, further = TEXTS[name]
    named = fl.read_experiment(written(folder, f'topology = "{text}"\n{further}'))
    tabled = fl.read_experiment(written(folder, f"[topology]\n{table}\n{further}"))
    assert named == tabled
    assert points(named) == points(tabled)


def test_options_change_the_network_of_a_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(folder, 'topology = "mesh 8"\n', "text.toml")
    written(folder, '[topology]\nkind = "mesh"\nsizes = [8]\n', "table.toml")
    rest = "--fail node:7 --set router.buffer=8"
    told = [answer(f"simulate {folder}/{name}.toml {rest}", capsys) for name in ("text", "table")]
    assert told[0] == told[1]
    assert told[0]["packets_delivered"] == 6
    other = answer(f"simulate {folder}/text.toml --set topology=4x2", capsys)
    assert other["packets_delivered"] == 8


def test_verbs_take_the_network_of_such_a_spec(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = written(folder, 'topology = "nets/ring.csv"\n' + PIPELINED)
    bound = "load bound --pattern next"
    by_name = answer(f"{bound} --network {spec}", capsys)
    assert by_name == answer(f"{bound} --graph {folder}/nets/ring.csv", capsys)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("4y4", "topology: '4y4' is not a factor; write factors like"),
        ("missing.csv", "topology: 'missing.csv' is not a file"),
        ("again.toml", "names another experiment for its network, 'spec.toml'"),
    ],
)
def test_what_names_no_network_is_refused(text: str, message: str, folder: Path) -> None:
    (folder / "again.toml").write_text('topology = "spec.toml"\n')
    with pytest.raises(fl.SpecError) as error:
        fl.read_experiment(written(folder, f'topology = "{text}"\n'))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_python_takes_the_text() -> None:
    traffic = fl.Collective("next")
    assert fl.Experiment(topology="mesh 4x4", traffic=traffic) == fl.Experiment(
        topology=fl.Mesh(4, 4), traffic=traffic
    )
    fields: dict[str, Any] = {"topology": "4y4", "traffic": {"kind": "collective", "pattern": "next"}}
    with pytest.raises(fl.SpecError, match="'4y4' is not a factor"):
        build_experiment(fields)


def test_a_campaign_takes_the_text(tmp_path: Path) -> None:
    rest = 'patterns = ["next"]\ngenes = "timing"\n'
    (tmp_path / "c.toml").write_text(f'topology = "mesh 4x4"\n{rest}')
    named = read_campaign(tmp_path / "c.toml")
    (tmp_path / "c.toml").write_text(f'{rest}[topology]\nkind = "mesh"\nsizes = "4x4"\n')
    assert [job.id for job in named.jobs()] == [job.id for job in read_campaign(tmp_path / "c.toml").jobs()]
    with pytest.raises(
        fl.SpecError, match="topology: full8 x full8 is a product, and campaigns are for tori"
    ):
        parse_campaign({"topology": "full8 x full8", "patterns": ["next"]})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"network": "full4 x ring3", "failed_nodes": [1]},
            r"topology\.failed_nodes: .* have names; write failed =",
        ),
        ({"network": "dragonfly(3,1,2)", "failed_links": ["0-1"]}, r"topology\.failed_links: .* have names"),
        ({"network": "full4 x rng3"}, r"topology\.network: 'rng3' is not a factor"),
        ({"network": "full4 x ring3", "faild": []}, r"topology\.faild: unknown field; did you mean failed\?"),
    ],
)
def test_a_table_for_pipelined_routers_is_refused_by_its_field(
    fields: dict[str, object], message: str
) -> None:
    asked = {"topology": fields, "router": {"model": "pipelined"}}
    with pytest.raises(fl.SpecError, match="^" + message):
        build_experiment({**asked, "traffic": {"kind": "collective", "pattern": "next"}})
