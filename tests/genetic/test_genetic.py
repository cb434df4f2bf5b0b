import json
from concurrent.futures import ThreadPoolExecutor
from importlib import resources

import pytest
from pyarrow import parquet

import flitloom as fl
from flitloom import genetic
from flitloom.campaign import Store, parse_campaign, read_campaign, run_campaign, search_rows
from flitloom.commands import run as command_line
from places import ROOT

NETWORK = fl.Network(fl.Torus(8, 8))
FEW = genetic.GeneticSettings(chromosomes=10, generations=20, training=5, pairs=45, synonyms=True)
SLICES = fl.Collective("brev", payload=14, slices=2)


@pytest.fixture(scope="module")
def found() -> genetic.GeneticResult:
    return genetic.search(NETWORK, SLICES, FEW, threads=1)


def test_threads_change_nothing(found):
    assert genetic.search(NETWORK, SLICES, FEW, threads=3) == found
    assert genetic.search(NETWORK, SLICES, FEW, seed=2).best != found.best


def test_what_was_found_is_what_the_simulator_says(found):
    for record in found.records:
        result = fl.simulate(record.network, record.collective)
        assert result.duration == record.duration == found.score
        shown = genetic.replay(record)
        assert {name: shown[name] for name in record.properties} == record.properties


def test_files_come_back_and_replay(found, tmp_path):
    file = tmp_path / "best.json"
    genetic.save_chromosome(found.chromosome, file)
    again = genetic.load_chromosome(file, network=NETWORK, pattern="brev")
    assert again.collective == found.collective
    assert again.router == found.chromosome.router

    with pytest.raises(fl.SpecError, match="not shfl"):
        genetic.load_chromosome(file, pattern="shfl")
    with pytest.raises(fl.SpecError, match="16x16 torus"):
        genetic.load_chromosome(file, network=fl.Network(fl.Torus(16, 16)))
    text = file.read_text()
    file.write_text(text[:-20])
    with pytest.raises(fl.SpecError, match="is not JSON"):
        genetic.load_chromosome(file)
    fields = json.loads(text)
    for change, message in [
        ({"format": "plan"}, "not a chromosome"),
        ({"duration": fields["duration"] - 1}, "replays in"),
        ({"surprise": 1}, "unknown field"),
        ({"collective": {**fields["collective"], "delays": [0]}}, "delays"),
    ]:
        file.write_text(json.dumps({**fields, **change}))
        with pytest.raises(fl.SpecError, match=message):
            genetic.load_chromosome(file)


def test_the_committed_schema_is_that_of_the_model():
    text = resources.files("flitloom.genetic").joinpath("chromosome.schema.json").read_text()
    assert json.loads(text) == genetic.Chromosome.model_json_schema()


def test_extrapolation_is_never_worse_than_the_searched_interval(found):
    stacked = genetic.extrapolate(found.chromosome)
    assert fl.simulate(stacked.network, stacked.collective).duration == stacked.duration
    assert genetic.extrapolate(stacked, 4).collective.slices == 4


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"lifetime": 1, "watchdog": 1}, "exclude"),
        ({"mutation_rate": 2}, "genetic.mutation_rate: 2 is out of range"),
        ({"mutation_levels": 0}, "genetic.mutation_levels: 0 is out of range"),
        ({"ties": "coin"}, "genetic.ties"),
        ({"generation": 5}, "did you mean generations"),
    ],
)
def test_bad_settings_name_their_field(fields, message):
    with pytest.raises(fl.SpecError, match=message):
        genetic.GeneticSettings(**fields)
    with pytest.raises(fl.SpecError, match=r"genetic\.genes"):
        genetic.search(NETWORK, SLICES, FEW, genes="all")


def test_the_papers_campaign_has_1440_runs_per_pattern():
    campaign = read_campaign(ROOT / "examples/campaigns/table-4.toml")
    assert len(campaign.combinations()) == 288
    assert len(campaign.jobs()) == 6 * 1440


def test_campaigns_resume(tmp_path):
    fields = {
        "topology": {"sizes": "4x4"},
        "patterns": ["brev", "shfl"],
        "genetic": {"generations": 5, "chromosomes": 4},
        "grid": {"mutation_rate": [0.05, 0.02]},
        "repeats": 2,
        "extrapolate": 2,
    }
    jobs = parse_campaign(fields).jobs()
    file = tmp_path / "runs.sqlite"
    with ThreadPoolExecutor(2) as pool:
        store = Store(file)
        assert run_campaign(jobs[:3], store, executor=pool) == 3
        store.close()
        store = Store(file)
        assert run_campaign(jobs, store, executor=pool) == 5
        assert run_campaign(jobs, store, executor=pool) == 0
        again = Store(tmp_path / "again.sqlite")
        run_campaign(jobs, again, executor=pool)
    rows, others = list(search_rows(store, jobs)), list(search_rows(again, jobs))
    assert len(rows) == 8
    for row, other in zip(rows, others, strict=True):
        assert {**row, "seconds": 0} == {**other, "seconds": 0}
    assert len({job.id for job in jobs}) == 8
    store.close()
    again.close()


def test_the_commands(tmp_path, capsys):
    file = tmp_path / "tiny.toml"
    file.write_text(
        'patterns = ["brev"]\n[topology]\nsizes = "4x4"\n[genetic]\ngenerations = 3\nchromosomes = 4\n'
    )
    assert command_line(["campaign", "best", str(file)]) == 0
    assert command_line(["campaign", "export", str(file), "--out", str(tmp_path / "rows.csv")]) == 2
    assert command_line(["campaign", "run", str(file), "--threads", "1"]) == 0
    capsys.readouterr()
    assert command_line(["campaign", "status", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"pattern": "brev", "finished": 1, "searches": 1}]
    assert command_line(["campaign", "best", str(file), "--json", "--out", str(tmp_path / "best")]) == 0
    row = json.loads(capsys.readouterr().out)[0]
    assert genetic.load_chromosome(tmp_path / "best/brev-C00.json").duration == row["duration"]
    assert command_line(["campaign", "export", str(file), "--out", str(tmp_path / "rows.csv")]) == 0
    assert len((tmp_path / "rows.csv").read_text().splitlines()) == 2
    assert command_line(["campaign", "export", str(file), "--out", str(tmp_path / "rows.parquet")]) == 0
    rows = parquet.read_table(tmp_path / "rows.parquet").to_pylist()
    assert [(row["pattern"], row["genetic.generations"]) for row in rows] == [("brev", 3)]
    file.write_text("repeats = 0\n")
    assert command_line(["campaign", "run", str(file)]) == 2
    assert "campaign.repeats" in capsys.readouterr().err
    file.write_text('topology.sizes = "4x4"\n[grid]\nties = ["age"]\nmutation_rate = [0.1, 3]\n')
    assert command_line(["campaign", "run", str(file)]) == 2
    assert "campaign.grid.mutation_rate[1]: 3 is out of range" in capsys.readouterr().err


def test_a_genetic_plan_brings_its_arbitration(tmp_path, capsys):
    plan = fl.plans.search(NETWORK, SLICES, method="genetic", genetic=FEW, seed=3)
    result = fl.simulate(NETWORK, plan)
    assert result.duration == plan.duration
    found = genetic.search(NETWORK, SLICES, FEW, seed=3)
    assert plan.duration == found.duration
    exact = fl.plans.search(NETWORK, SLICES)
    assert plan.bound <= exact.duration <= plan.duration
    # The experiment in the result is complete.
    spec = result.spec
    assert fl.simulate(fl.Network(spec.topology, spec.router), spec.traffic).duration == plan.duration
    file = tmp_path / "plan.json"
    plan.save(file)
    assert command_line(["check", str(file)]) == 0
    assert command_line(["simulate", "--plan", str(file), "--json"]) == 0
    fields = json.loads(file.read_text())
    file.write_text(json.dumps({**fields, "duration": plan.duration - 1}))
    assert command_line(["check", str(file)]) == 1
    assert "duration: the file says" in capsys.readouterr().out
    with pytest.raises(fl.SpecError, match="does not go with a genetic search"):
        fl.plans.search(NETWORK, SLICES, method="genetic", guard=1)
    with pytest.raises(fl.SpecError, match="needs a collective"):
        fl.plans.search(NETWORK, fl.scheduling.Operation("all-to-all"), method="genetic")
    assert command_line(["schedule", "--torus", "4x4", "--pattern", "shfl", "--method", "genetic"]) == 0
