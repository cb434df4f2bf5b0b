"""What notebooks show: short representations, tables, and a film in a frame."""

import html
from html.parser import HTMLParser

import pytest

import flitloom as fl


@pytest.fixture(scope="module")
def network():
    return fl.Network(fl.Torus(4, 4))


TORUS, SHUFFLE = fl.Torus(4, 4), fl.Collective("shfl", payload=14, slices=2)


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
        (placed, "busiest channel"),
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


def test_a_film_plays_in_a_frame_of_a_notebook(network, tmp_path):
    from flitloom.view import write_page

    film = fl.simulate(network, SHUFFLE).film()
    page = Cells(film._repr_html_()).page
    write_page([film], tmp_path / "page.html")
    assert html.unescape(page) == html.unescape((tmp_path / "page.html").read_text(encoding="utf-8"))
