"""The engine compiled to WebAssembly does what the native one does, bit for bit."""

import json
import random
import shlex
import shutil
import subprocess

import pytest

import flitloom as fl
from flitloom._core import LISTS
from flitloom.commands import run
from flitloom.load.bounds import ideal_loads
from flitloom.spec import PERMUTATIONS, SCHEMES
from flitloom.spec.router import ROUTINGS
from flitloom.view import page
from live_engine import NODE

CASES = 200


@pytest.fixture(scope="module")
def engine():
    if not page.ENGINE.exists():
        pytest.skip("the engine of live pages is not built (make wasm)")
    return page.ENGINE


def random_case(draw):
    """A spec for the live page."""
    sizes = [draw.choice((2, 4, 8)) for _ in range(draw.randint(1, 3))]
    wormhole = draw.random() < 0.7
    length = draw.randint(1, 9)
    if draw.random() < 0.5:
        traffic = {"kind": "load", "rate": draw.choice((0.05, 0.2, 0.6)), "length": length, "cycles": 150}
    else:
        traffic = {
            "kind": "collective",
            "payload": 2 * length,
            "slices": draw.randint(1, 2),
            "interval": draw.randint(0, 40),
            "packets": draw.randint(1, 3),
        }
    return {
        "sizes": sizes,
        "wraps": [draw.random() < 0.7 for _ in sizes],
        "channels": draw.choice((None, 1, 3)),
        "buffer": draw.randint(1, 8) if wormhole else 64,
        "latency": draw.choice((1, 1, 1, 3)),
        "flow_control": "wormhole" if wormhole else draw.choice(("cut-through", "bubble")),
        "arbitration": draw.choice(SCHEMES),
        "routing": draw.choice(("do", "do", "do", *ROUTINGS)),
        "ties": draw.choice(LISTS["tie_rules"]),
        "throttle": draw.choice(("none", "none", "interlock", "pt", "pace:interval=9", "alo")),
        "pattern": draw.choice((*PERMUTATIONS, "rand", "next", "hots")),
        "traffic": traffic,
        "seed": draw.randint(0, 2**32),
        "stop_at": None,
    }


def native(case):
    """What flitloom makes of the case here: a fingerprint, a deadlock, or a refusal."""
    kind, fields = case["traffic"]["kind"], {**case["traffic"]}
    del fields["kind"]
    try:
        topology = fl.Topology(sizes=case["sizes"], wrap=case["wraps"])
        router = {
            name: case[name]
            for name in ("buffer", "latency", "flow_control", "arbitration", "routing", "ties")
        }
        network = fl.Network(topology, fl.Router(channels=case["channels"], **router))
        traffic = (fl.Load if kind == "load" else fl.Collective)(case["pattern"], **fields)
        result = fl.simulate(network, traffic, seed=case["seed"], throttle=case["throttle"])
    except fl.DeadlockError as error:
        return f"deadlock in cycle {error.cycle}, {error.stuck_flits} flits stuck for ever"
    except fl.FlitloomError:
        return None
    return result.fingerprint, f"{result.duration} cycles"


def test_it_does_what_the_native_engine_does(engine, tmp_path):
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node to run WebAssembly")
    draw = random.Random(1)
    cases, expected = [], []
    while len(cases) < CASES:
        case = random_case(draw)
        outcome = native(case)
        if outcome is not None:
            cases.append(case)
            expected.append(outcome)
    script = tmp_path / "run.mjs"
    script.write_text(NODE)
    done = subprocess.run(
        [node, str(script), str(engine)], input=json.dumps(cases), capture_output=True, text=True, check=True
    )
    delivered = 0
    for case, outcome, line in zip(cases, expected, done.stdout.splitlines(), strict=True):
        facts = json.loads(line).get("facts", line)
        if isinstance(outcome, str):
            assert facts["outcome"] == outcome, case
            continue
        delivered += 1
        assert (facts["fingerprint"], facts["duration"]) == outcome, case
        # The engine in bit planes, where it is picked, in the words of this target.
        assert facts["fingerprint of the faster engine"] == outcome[0], case
    assert delivered > CASES // 2


def test_wrong_specs_are_told(engine, tmp_path):
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node to run WebAssembly")
    script = tmp_path / "run.mjs"
    script.write_text(NODE)
    good = random_case(random.Random(2))
    wrong = [
        {**good, "sizes": [1]},
        {**good, "pattern": "none"},
        {"sizes": [4]},
        {**good, "more": 1},
        {**good, "throttle": "brake"},
        {**good, "routing": "by sea"},
        {**good, "ties": "windsor"},
    ]
    done = subprocess.run(
        [node, str(script), str(engine)], input=json.dumps(wrong), capture_output=True, text=True, check=True
    )
    assert all(json.loads(line).get("error") for line in done.stdout.splitlines())
    assert len(done.stdout.splitlines()) == 7


def test_the_live_page_simulates_in_a_browser(engine, tmp_path):  # noqa: ARG001
    from selenium.webdriver.support.wait import WebDriverWait

    from browser import start

    out = tmp_path / "live.html"
    assert run(["view", "--live", "-o", str(out)]) == 0
    assert out.stat().st_size < 3_000_000
    driver = start()
    try:
        driver.get(out.as_uri())
        WebDriverWait(driver, 30).until(lambda _: driver.execute_script("return document.body.dataset.ready"))

        def fact(name):
            return driver.find_element("css selector", f"tr[data-fact='{name}'] td").text

        result = fl.simulate(
            fl.Network(fl.Torus(16, 16)), fl.Collective("shfl", payload=28, slices=4, interval=60)
        )
        assert (fact("duration"), fact("fingerprint")) == (f"{result.duration} cycles", result.fingerprint)
        driver.execute_script(
            "const form = document.getElementById('live'); form.elements.sizes.value = '8x8';"
            "form.elements.pattern.value = 'torn'; form.requestSubmit()"
        )
        result = fl.simulate(
            fl.Network(fl.Torus(8, 8)), fl.Collective("torn", payload=28, slices=4, interval=60)
        )
        assert fact("fingerprint") == result.fingerprint
        driver.execute_script(
            "const form = document.getElementById('live'); form.elements.sizes.value = '1x8';"
            "form.requestSubmit()"
        )
        assert driver.find_element("id", "problem").text
        assert driver.get_log("browser") == []
    finally:
        driver.quit()


@pytest.fixture(scope="module")
def live(engine, tmp_path_factory):  # noqa: ARG001
    """The live page in a browser."""
    from selenium.webdriver.support.wait import WebDriverWait

    from browser import start

    out = tmp_path_factory.mktemp("live") / "live.html"
    assert run(["view", "--live", "-o", str(out)]) == 0
    driver = start()
    try:
        driver.get(out.as_uri())
        WebDriverWait(driver, 30).until(lambda _: driver.execute_script("return document.body.dataset.ready"))
        yield driver
        assert driver.get_log("browser") == []
    finally:
        driver.quit()


def begin_with(driver, link):
    """Follow a link of the page, and return the facts by their names: the values of every run."""
    driver.execute_script(
        "location.hash = arguments[0]; dispatchEvent(new HashChangeEvent('hashchange'))", link
    )
    rows = driver.find_elements("css selector", "#facts tbody tr")
    return {
        row.get_attribute("data-fact"): [cell.text for cell in row.find_elements("css selector", "td")]
        for row in rows
    }


def problem(driver):
    return driver.find_element("id", "problem").text


def measured(result, cycles, length=8):
    """Latency and accepted load in the second half of the cycles in which packets are generated."""
    packets, half = result.packets, cycles // 2
    ejected = int(((packets.tail_arrival >= half) & (packets.tail_arrival < cycles)).sum())
    late = (packets.generated >= half) & (packets.generated < cycles)
    ages = (packets.tail_arrival + 2 - packets.generated).where(late, drop=True)
    return float(ages.mean()), length * ejected / result.network.topology.nodes / (cycles - half)


def digits(value):
    return float(f"{value:.4g}")


def test_a_live_page_shows_what_its_link_asks_for(live):
    facts = begin_with(live, "sizes=8x8&kind=load&pattern=hots&rate=0.1&cycles=600")
    assert problem(live) == ""
    network = fl.Network(fl.Torus(8, 8))
    result = fl.simulate(network, fl.Load("hots", rate=0.1, length=8, cycles=600), packets=True)
    age, accepted = measured(result, 600)
    assert list(facts)[:2] == ["latency", "accepted load"]
    assert facts["latency"] == [f"{digits(age):g} cycles"]
    assert facts["accepted load"] == [f"{digits(accepted):g} flits/node/cycle"]
    assert facts["fingerprint"] == [result.fingerprint]
    assert facts["target"] == ["(4,4)"]
    facts = begin_with(live, "lesson=deadlock")
    ring = fl.Network(fl.Torus(8), fl.Router(channels=1))
    with pytest.raises(fl.DeadlockError) as stuck:
        fl.simulate(ring, fl.Load("rand", rate=0.9, length=8, cycles=1000))
    assert facts["outcome"][0].startswith(f"deadlock in cycle {stuck.value.cycle},")
    facts = begin_with(live, "lesson=throttle")
    router = fl.Router(flow_control="cut-through", buffer=16)
    network = fl.Network(fl.Torus(16, 16), router)
    load = fl.Load("bcmp", rate=0.4, length=8, cycles=800)
    results = [fl.simulate(network, load, throttle=throttle) for throttle in ("none", "pt")]
    assert facts["fingerprint"] == [result.fingerprint for result in results]
    assert facts["latency"] == ["none: a source queue grows for good"] * 2
    facts = begin_with(live, "lesson=slices")
    shuffle = fl.simulate(
        fl.Network(fl.Torus(16, 16)), fl.Collective("shfl", payload=28, slices=4, interval=60)
    )
    assert facts["fingerprint"] == [shuffle.fingerprint]
    assert facts["duration"] == [f"{shuffle.duration} cycles"]


def test_a_lesson_has_a_text_a_question_and_an_animation(live):
    lessons = live.find_elements("css selector", "#lesson option")
    names = [lesson.get_attribute("value") for lesson in lessons if lesson.get_attribute("value")]
    assert len(names) == 8
    for name in names:
        facts = begin_with(live, f"lesson={name}")
        assert problem(live) == "", name
        assert live.execute_script("return document.getElementById('lesson').value") == name
        told = live.find_elements("css selector", "#told > p, #told summary")
        assert [len(part.text) > 20 for part in told] == [True, True], name
        runs = len(next(iter(facts.values())))
        # What is compared has to differ.
        assert len({*facts.get("fingerprint", ["deadlock"])}) == runs, name
        assert len(live.find_elements("css selector", ".run canvas.torus")) == runs
        assert live.execute_script("return Number(document.getElementById('cycle').max)") > 50


def test_a_link_comes_back_and_a_wrong_one_is_refused(live):
    begin_with(live, "lesson=slices")
    live.execute_script(
        "const form = document.getElementById('live');"
        "form.elements.sizes.value = '4x4'; form.elements.payload.value = '9'; form.requestSubmit()"
    )
    link = live.execute_script("return location.hash")
    facts = begin_with(live, "lesson=tree")
    assert live.execute_script("return location.hash") == "#lesson=tree"
    assert facts["target"] == ["(4,4)"]
    facts = begin_with(live, link)
    assert live.execute_script("return location.hash") == link
    again = fl.simulate(fl.Network(fl.Torus(4, 4)), fl.Collective("shfl", payload=9, slices=4, interval=60))
    assert facts["fingerprint"] == [again.fingerprint]
    for wrong, said in {
        "size=4x4": "the link has the field 'size', which this page does not know",
        "kind=lod": "the link has kind=lod, which is not a choice here",
        "lesson=no": "there is no lesson 'no'; there are slices, wormhole",
        "sizes=1x8": "size",
    }.items():
        begin_with(live, wrong)
        assert said in problem(live)
        assert live.execute_script("return document.getElementById('lesson').value") == "slices"


@pytest.mark.parametrize(
    "link",
    [
        "sizes=8x8&kind=load&pattern=rand&rate=0.3&cycles=500&ties=balanced&buffer=16",
        "shape=mesh&sizes=4x4&kind=load&pattern=hots&rate=0.1&cycles=300&routing=ma&flow_control=cut-through&buffer=16",
        "sizes=8x4&payload=9&channels=4&latency=2&arbitration=C01",
    ],
)
def test_a_live_page_names_the_command_of_the_same_run(live, link, capsys):
    facts = begin_with(live, link)
    assert problem(live) == ""
    live.execute_script("document.getElementById('same').parentElement.open = true")
    [command] = [part.text for part in live.find_elements("css selector", "#same code")]
    assert run([*shlex.split(command)[1:], "--json"]) == 0
    assert [json.loads(capsys.readouterr().out)["fingerprint"]] == facts["fingerprint"]
    fields = dict(part.split("=") for part in link.split("&"))
    assert f"ties {fields.get('ties', 'wrap')}" in facts["router"][0]
    assert f"of {fields.get('buffer', 4)} flits" in facts["router"][0]


@pytest.mark.parametrize(
    ("link", "topology", "pattern"),
    [
        ("sizes=8x8&kind=load&pattern=bcmp", fl.Torus(8, 8), "bcmp"),
        ("sizes=8x8&kind=load&pattern=rand", fl.Torus(8, 8), "rand"),
        ("sizes=4x6x3&kind=load&pattern=rand", fl.Torus(4, 6, 3), "rand"),
        ("shape=mesh&sizes=8x4&kind=load&pattern=rand", fl.Mesh(8, 4), "rand"),
        ("shape=mesh&sizes=8x8&kind=load&pattern=trns", fl.Mesh(8, 8), "trns"),
        ("sizes=16&kind=load&pattern=torn", fl.Torus(16), "torn"),
    ],
)
@pytest.mark.parametrize("ties", LISTS["tie_rules"])
def test_the_bound_of_a_live_page_is_that_of_load(live, link, topology, pattern, ties):
    facts = begin_with(live, f"{link}&rate=0.02&cycles=50&ties={ties}")
    load = fl.Load(pattern, rate=0.02, cycles=50)
    bound = ideal_loads(fl.Experiment(topology=topology, router=fl.Router(ties=ties), traffic=load))["bound"]
    assert facts["bound"] == [f"{digits(bound):g} flits/node/cycle (links)"]


def test_a_live_page_measures_curves(live):
    facts = begin_with(live, "sizes=8x8&kind=load&pattern=bcmp&rate=0.4&cycles=8000&curves=1")
    assert problem(live) == ""
    live.execute_script("document.querySelector('#measured details').open = true")
    rows = [
        [cell.text for cell in row.find_elements("css selector", "td")]
        for row in live.find_elements("css selector", "#measured tbody tr")
    ]
    assert len(rows) == 10
    network = fl.Network(fl.Torus(8, 8))
    curve = fl.load.curve(network, "bcmp", [float(row[0]) for row in rows], refine=0)
    # A page looks at a source queue for fewer cycles, so it knows less, but nothing else.
    verdicts = ["steady" if row[2][0].isdigit() else row[2] for row in rows]
    for found, long in zip(verdicts, curve.verdict.values.tolist(), strict=True):
        assert found in (long, "undecided")
    assert verdicts.count("undecided") <= 1
    assert "steady" in verdicts
    assert "growing" in verdicts
    steady = [row for row, verdict in zip(rows, verdicts, strict=True) if verdict == "steady"]
    assert len(live.find_elements("css selector", "#measured svg circle")) == len(rows) + len(steady)
    # Short runs are near the long ones of `flitloom load`, and the facts of a run are its point.
    for (_, accepted, _), long in zip(rows, curve.accepted.values, strict=True):
        assert float(accepted) == pytest.approx(float(long), rel=0.06)
    for (_, _, latency), long, busy in zip(
        steady, curve.latency.values, curve.utilisation.values, strict=False
    ):
        # Near saturation a short run says little of the latency.
        if busy < 0.9:
            assert float(latency) == pytest.approx(float(long), rel=0.25)
    for offered in (rows[1], rows[4]):
        result = fl.simulate(
            network, fl.Load("bcmp", rate=float(offered[0]), length=8, cycles=8000), packets=True
        )
        assert (float(offered[2]), float(offered[1])) == tuple(map(digits, measured(result, 8000)))
    assert facts["accepted load"] == [f"{rows[4][1]} flits/node/cycle"]
    marks = live.find_elements("css selector", "#measured .band, #measured path.bound")
    assert len(marks) == 4
    assert "Saturates between" in live.find_element("css selector", "#measured > p").text
    assert len(live.find_elements("css selector", "#measured .grid")) > 12


def test_a_live_page_takes_the_router_of_load_for_loads(live, capsys):
    begin_with(live, "sizes=8x8&pattern=rand&rate=0.1&cycles=8000")
    live.execute_script(
        "const form = document.getElementById('live'); form.elements.kind.value = 'load';"
        "form.elements.kind.dispatchEvent(new Event('change')); form.requestSubmit()"
    )
    facts = begin_with(live, live.execute_script("return location.hash"))
    assert "ties balanced, wormhole, the usual channels of 16 flits" in facts["router"][0]
    words = ["load", "curve", "--torus", "8x8", "--pattern", "rand", "--rates", "0.1", "--refine", "0"]
    assert run([*words, "--json"]) == 0
    [row] = json.loads(capsys.readouterr().out)
    assert facts["bound"] == [f"{digits(row['bound']):g} flits/node/cycle (links)"]
    assert float(facts["latency"][0].split()[0]) == pytest.approx(row["latency"], rel=0.05)
    assert float(facts["accepted load"][0].split()[0]) == pytest.approx(row["accepted"], rel=0.05)
    # A router that was changed by hand stays as it is.
    live.execute_script(
        "const form = document.getElementById('live'); form.elements.buffer.value = '9';"
        "form.elements.kind.value = 'collective'; form.elements.kind.dispatchEvent(new Event('change'))"
    )
    fields = live.execute_script(
        "return [form.elements.ties.value, form.elements.buffer.value]".replace(
            "form", "document.getElementById('live')"
        )
    )
    assert fields == ["balanced", "9"]


def test_without_the_engine_it_says_how_to_get_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(page, "ENGINE", tmp_path / "engine.wasm")
    assert run(["view", "--live", "-o", str(tmp_path / "live.html")]) == 2
    assert "make wasm builds it" in capsys.readouterr().err
    assert run(["view", "-o", str(tmp_path / "live.html")]) == 2
    assert "name a file to show, or give --live" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
