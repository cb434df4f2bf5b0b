"""What Python users meet: signatures, representations, notebooks, messages for what was meant otherwise."""

import html
import inspect
import re
from html.parser import HTMLParser
from typing import get_args

import pytest

import flitloom as fl
from flitloom.spec import PATTERNS, SCHEMES
from flitloom.spec.router import SchemeName
from flitloom.spec.traffic import PatternName


@pytest.fixture(scope="module")
def network():
    return fl.Network(fl.Torus(4, 4))


TORUS, SHUFFLE = fl.Torus(4, 4), fl.Collective("shfl", payload=14, slices=2)
NETWORK = fl.Network(TORUS)


@pytest.mark.parametrize(
    ("misuse", "message"),
    [
        (
            lambda: fl.simulate(TORUS, SHUFFLE),
            r"4x4 torus has no routers yet; give fl.Network\(Torus\(4, 4\)\)",
        ),
        (lambda: fl.Simulation(TORUS, SHUFFLE), "has no routers yet"),
        (lambda: fl.plans.search(TORUS, SHUFFLE), "has no routers yet"),
        (lambda: fl.stack(TORUS, SHUFFLE), "has no routers yet"),
        (lambda: fl.lower_bound(TORUS, SHUFFLE), "has no routers yet"),
        (lambda: fl.simulate("4x4", SHUFFLE), "'4x4' is no network; give fl.Network"),
        (lambda: fl.Network("4x4"), "give fl.Torus"),
        (lambda: fl.Collective("shfl", 14), "14 is given without a name; write NAME=14, .*payload"),
        (lambda: fl.Router(3), "3 is given without a name; write NAME=3, .*channels"),
    ],
)
def test_what_was_meant_otherwise_is_told(misuse, message):
    with pytest.raises(fl.SpecError, match=message):
        misuse()


def test_representations_are_short_and_make_the_same_again(network):
    for part in (
        fl.Torus(4, 4),
        fl.Mesh(4, 2, failed_nodes=[3]),
        fl.Torus(8, 8, wrap=[True, False]),
        SHUFFLE,
        fl.Load("rand", rate=0.1, length=8, cycles=100),
        fl.Router(buffer=8, arbitration="C04"),
        fl.Router(),
    ):
        again = eval(repr(part), vars(fl) | {"fl": fl, **{name: getattr(fl, name) for name in fl.__all__}})
        assert again == part
        assert len(repr(part)) < 80, part
    for made in (
        fl.simulate(network, SHUFFLE),
        fl.plans.search(network, SHUFFLE),
        fl.stack(network, SHUFFLE),
        fl.tables.make(TORUS),
    ):
        assert len(repr(made)) < 130, made


def test_signatures_can_be_read():
    text = str(inspect.signature(fl.Collective))
    assert text.startswith("(pattern: Optional[str] = None, *, ")
    assert "payload: int = 7" in text
    for part in (fl.Collective, fl.Load, fl.Router, fl.Packets, fl.TrafficMatrix, fl.Messages):
        assert not re.search("Validator|function|0x|Annotated", str(inspect.signature(part)))


def test_editors_offer_all_names_there_are():
    assert get_args(PatternName) == PATTERNS
    assert get_args(SchemeName) == (*SCHEMES, "packet")


class Cells(HTMLParser):
    """Names and values of a table, and the page of a frame."""

    def __init__(self, text):
        super().__init__()
        self.texts, self.page = [], None
        self.feed(text)

    def handle_data(self, data):
        self.texts.append(data)

    def handle_starttag(self, tag, attrs):
        if tag == "iframe":
            assert dict(attrs)["sandbox"] == "allow-scripts"
            self.page = dict(attrs)["srcdoc"]


def test_notebooks_show_tables_of_what_came_out(network):
    result, plan, tables = (
        fl.simulate(network, SHUFFLE),
        fl.plans.search(network, SHUFFLE),
        fl.tables.make(TORUS),
    )
    texts = Cells(result._repr_html_()).texts
    assert texts[0] == "shfl on 4x4 torus, 14 payload flits in 2 slices"
    assert texts[texts.index("duration") + 1] == str(result.duration)
    texts = Cells(plan._repr_html_()).texts
    assert texts[texts.index("duration") + 1] == f"{plan.duration} cycles"
    texts = Cells(tables._repr_html_()).texts
    assert texts[texts.index("largest load") + 1] == str(tables.max_load)


def test_notebooks_show_tables_where_people_look(network):
    from flitloom.fabric import examples, recognise, route_subnet

    fabric = examples.torus((4, 4))
    tables = route_subnet(fabric)
    plan = fl.plans.search(network, SHUFFLE)
    axes = fl.placing.parse_axes("data=4:ring:8,expert=4:a2a:1")
    placed = fl.placing.place(TORUS, fl.placing.axes_traffic(axes))
    values = [
        (TORUS, "4, 4"),
        (fl.Router(buffer=8), "8"),
        (SHUFFLE, "shfl"),
        (fl.Simulation(network, fl.Load("rand", rate=0.1, cycles=50)), "False"),
        (recognise(fabric), "16"),
        (fabric, "32"),
        (tables.report, "none possible"),
        (plan, "True"),
        (fl.plans.study_jitter(network, plan, jitter=2, trials=2), "plan mean"),
        (fl.collectives.simulate(fl.collectives.plan(TORUS, "all-gather")), "steps"),
        (placed, "fullest channel"),
        (placed.traffic, "pairs"),
    ]
    assert all(len(repr(value)) < 130 for value, _ in values[-4:])
    for value, text in values:
        assert any(text in cell for cell in Cells(value._repr_html_()).texts), value
    texts = Cells(tables._repr_html_()).texts
    assert texts[texts.index("largest load") + 1] == str(tables.report.max_load)
    # A long field is cut.
    matrix = fl.TrafficMatrix(matrix=[[int(a != b) for a in range(16)] for b in range(16)])
    assert max(map(len, Cells(matrix._repr_html_()).texts)) <= 200


def test_plans_that_say_the_same_are_equal_and_hash_alike(network):
    ring = fl.placing.axes_traffic(fl.placing.parse_axes("data=4:ring:8,expert=4:a2a:1"))
    for make in (
        lambda: fl.plans.search(network, SHUFFLE),
        lambda: fl.collectives.plan(TORUS, "all-gather"),
        lambda: fl.tables.make(fl.Torus(4, 4)),
        lambda: fl.placing.place(fl.Torus(4, 4), ring),
        lambda: fl.Network(fl.Torus(4, 4)),
    ):
        one, other = make(), make()
        assert one is not other
        assert one == other
        assert hash(one) == hash(other)
        assert len({one, other}) == 1
    assert fl.plans.search(network, SHUFFLE) != fl.plans.search(
        network, fl.Collective("bcmp", payload=14, slices=2)
    )
    assert fl.placing.place(fl.Torus(4, 4), ring) != fl.placing.place(fl.Torus(8, 2), ring)
    assert fl.Network(fl.Torus(4, 4)) != fl.Network(fl.Torus(4, 4), fl.Router(buffer=8))


def test_a_film_plays_in_a_frame_of_a_notebook(network, tmp_path):
    from flitloom.view import write_page

    film = fl.simulate(network, SHUFFLE).film()
    page = Cells(film._repr_html_()).page
    write_page([film], tmp_path / "page.html")
    assert html.unescape(page) == html.unescape((tmp_path / "page.html").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fl.run_experiment("a.toml"), "experiment: 'a.toml' is no experiment; give"),
        (lambda: fl.plans.check("plan.json"), "plan: 'plan.json' is no plan; give fl.plans.search"),
        (
            lambda: fl.plans.deadlock_certificate(SHUFFLE),
            "plan: Collective(pattern='shfl', payload=14, slices=2) is no plan",
        ),
        (
            lambda: fl.plans.spread(SHUFFLE, 4),
            "plan: Collective(pattern='shfl', payload=14, slices=2) is no plan",
        ),
        (
            lambda: fl.plans.study_jitter(NETWORK, SHUFFLE, 4),
            "plan: Collective(pattern='shfl', payload=14, slices=2) is no plan",
        ),
        (
            lambda: fl.plans.study_jitter(SHUFFLE, NETWORK, 4),
            "network: Collective(pattern='shfl', payload=14, slices=2) is no network",
        ),
        (
            lambda: fl.plans.guarded(SHUFFLE, NETWORK, 4),
            "network: Collective(pattern='shfl', payload=14, slices=2) is no network",
        ),
        (lambda: fl.plans.guarded(NETWORK, SHUFFLE, "4"), "jitter: '4' is not a whole number"),
        (lambda: fl.plans.search(NETWORK, SHUFFLE, guard="1"), "guard: '1' is not a whole number"),
        (lambda: fl.plans.search(NETWORK, SHUFFLE, moves=0), "moves: 0 is out of range"),
        (lambda: fl.simulate(NETWORK, SHUFFLE, threads="2"), "threads: '2' is not a whole number"),
        (lambda: fl.stack(NETWORK, SHUFFLE, threads=1.5), "threads: 1.5 is not a whole number"),
        (lambda: fl.Operation("allgather"), "did you mean all-gather?"),
        (
            lambda: fl.collectives.check(SHUFFLE),
            "is no plan of a collective operation; give fl.collectives.plan",
        ),
        (lambda: fl.collectives.plan(NETWORK, "all-gather"), "is no network; give fl.Torus(...)"),
        (lambda: fl.tables.check(5), "file: 5 is no name of a file; give a text"),
        (lambda: fl.plans.read(5), "file: 5 is no name of a file"),
        (lambda: fl.tables.read(None), "file: None is no name of a file"),
        (lambda: fl.collectives.read([]), "file: [] is no name of a file"),
        (lambda: fl.read_experiment({}), "file: {} is no name of a file"),
    ],
)
def test_what_stands_in_the_wrong_place_is_told(call, message):
    with pytest.raises(fl.SpecError, match=re.escape(message)):
        call()


def test_plans_of_collective_operations_are_shown_in_short():
    assert repr(fl.collectives.plan(fl.Torus(4, 4), "all-gather")) == (
        "CollectivePlan(all-gather on 4x4 torus: 4 steps, optimal)"
    )
