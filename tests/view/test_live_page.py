"""The engine compiled to WebAssembly does what the native one does, bit for bit."""

import json
import random
import shutil
import subprocess

import pytest

import flitloom as fl
from flitloom.commands import run
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
            name: case[name] for name in ("buffer", "latency", "flow_control", "arbitration", "routing")
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
    ]
    done = subprocess.run(
        [node, str(script), str(engine)], input=json.dumps(wrong), capture_output=True, text=True, check=True
    )
    assert all(json.loads(line).get("error") for line in done.stdout.splitlines())
    assert len(done.stdout.splitlines()) == 6


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


def begin_with(driver, preset):
    """Choose a preset, and return the facts of its runs: a list of names with the values of every run."""
    driver.execute_script(
        "const chosen = document.getElementById('preset'); chosen.value = arguments[0];"
        "chosen.dispatchEvent(new Event('change'))",
        preset,
    )
    assert driver.find_element("id", "problem").text == ""
    rows = driver.find_elements("css selector", "#facts tbody tr")
    return [
        (row.get_attribute("data-fact"), [cell.text for cell in row.find_elements("css selector", "td")])
        for row in rows
    ]


def facts_of(result):
    """Latency and accepted load as a live page writes them."""
    return [f"{result.mean_latency:.4g} cycles", f"{result.throughput:.4g} flits/node/cycle"]


def test_a_live_page_begins_with_what_is_chosen(live):
    facts = begin_with(live, "a hot spot")
    result = fl.simulate(fl.Network(fl.Torus(8, 8)), fl.Load("hots", rate=0.2, length=8, cycles=600))
    assert [name for name, _ in facts[:2]] == ["latency", "accepted load"]
    assert [values[0] for _, values in facts[:2]] == facts_of(result)
    assert dict(facts)["target"] == ["(4,4)"]
    facts = dict(begin_with(live, "a deadlock"))
    ring = fl.Network(fl.Torus(8), fl.Router(channels=1))
    with pytest.raises(fl.DeadlockError) as stuck:
        fl.simulate(ring, fl.Load("rand", rate=0.9, length=8, cycles=1000))
    assert facts["outcome"][0].startswith(f"deadlock in cycle {stuck.value.cycle},")
    facts = dict(begin_with(live, "a throttle, off and on"))
    network = fl.Network(fl.Torus(16, 16), fl.Router(flow_control="cut-through", buffer=16))
    load = fl.Load("bcmp", rate=0.4, length=8, cycles=800)
    results = [fl.simulate(network, load, throttle=throttle) for throttle in ("none", "pt")]
    assert facts["fingerprint"] == [result.fingerprint for result in results]
    assert [*zip(facts["latency"], facts["accepted load"], strict=True)] == [
        tuple(facts_of(result)) for result in results
    ]
    facts = dict(begin_with(live, "a shuffle in slices"))
    shuffle = fl.simulate(
        fl.Network(fl.Torus(16, 16)), fl.Collective("shfl", payload=28, slices=4, interval=60)
    )
    assert facts["fingerprint"] == [shuffle.fingerprint]


def test_a_live_page_measures_curves(live):
    begin_with(live, "a hot spot")
    live.execute_script("document.getElementById('measure').click()")
    live.execute_script("document.querySelector('#measured details').open = true")
    rows = [
        [float(cell.text) for cell in row.find_elements("css selector", "td")]
        for row in live.find_elements("css selector", "#measured tbody tr")
    ]
    assert len(rows) == 10
    assert len(live.find_elements("css selector", "#measured svg circle")) == 20
    network = fl.Network(fl.Torus(8, 8))
    for offered, accepted, latency in (rows[2], rows[9]):
        packets = fl.simulate(
            network, fl.Load("hots", rate=offered, length=8, cycles=600), packets=True
        ).packets
        ejected = int(((packets.tail_arrival >= 300) & (packets.tail_arrival < 600)).sum())
        assert accepted == float(f"{8 * ejected / 64 / 300:.4g}")
        late = (packets.generated >= 300) & (packets.generated < 600)
        ages = (packets.tail_arrival + 2 - packets.generated).where(late, drop=True)
        assert latency == float(f"{float(ages.mean()):.4g}")


def test_without_the_engine_it_says_how_to_get_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(page, "ENGINE", tmp_path / "engine.wasm")
    assert run(["view", "--live", "-o", str(tmp_path / "live.html")]) == 2
    assert "make wasm builds it" in capsys.readouterr().err
    assert run(["view", "-o", str(tmp_path / "live.html")]) == 2
    assert "name a file to show, or give --live" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
