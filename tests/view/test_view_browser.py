"""Pages in a real browser: they open from a file, play, say the right numbers and obey the keyboard."""

import re

import numpy as np
import pytest

import flitloom as fl
from browser import start
from flitloom.placing.seats import seats_of
from flitloom.view import Loads, Steps, film, wires, write_page

NETWORK = fl.Network(fl.Torus(8, 8))
TRAFFIC = fl.Collective("shfl", payload=14, slices=2, interval=20)


@pytest.fixture(scope="module")
def driver():
    driver = start()
    yield driver
    driver.quit()


@pytest.fixture
def show(driver, tmp_path):
    """Open a page of what is given, wait for it, and hold it against its console when the test is over."""
    from selenium.webdriver.support.wait import WebDriverWait

    def opened(*shown):
        write_page(shown, tmp_path / "page.html")
        driver.get((tmp_path / "page.html").as_uri())
        WebDriverWait(driver, 30).until(
            lambda driver: driver.execute_script("return document.body.dataset.ready")
        )
        return driver

    yield opened
    assert driver.get_log("browser") == []


def text(driver, selector):
    return driver.find_element("css selector", selector).text


def frame(driver):
    """Wait until what was asked for is drawn."""
    driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")


def press(driver, *keys, selector="body"):
    from selenium.webdriver.common.keys import Keys

    for key in keys:
        driver.find_element("css selector", selector).send_keys(getattr(Keys, key, key))
    frame(driver)


def buffers_in_use(raw, cycle):
    """Channels of links whose buffer holds a flit: from its header's arrival until its tail has left."""
    hops = sorted(
        zip(*(raw["hops"][name] for name in ("packet", "head", "last", "link", "channel")), strict=True)
    )
    used = set()
    for hop, after in zip(hops, [*hops[1:], (-1,)], strict=True):
        packet, head, _, link, channel = hop
        leaves = after[2] if after[0] == packet else raw["packets"]["tail_arrival"][packet]
        if head < cycle <= leaves:
            used.add((link, channel))
    return len(used)


def test_the_numbers_of_a_simulation_are_on_its_page(show):
    result = fl.simulate(NETWORK, TRAFFIC, link_time=True)
    made = film(NETWORK, TRAFFIC)
    driver = show(made)
    assert text(driver, "h1") == "shfl on 8x8 torus, 14 payload flits in 2 slices"
    assert text(driver, "tr[data-fact=duration] td") == f"{result.duration} cycles"
    assert text(driver, "tr[data-fact=fingerprint] td") == result.fingerprint
    for cycle in (0, 17, 30, 52):
        driver.execute_script(
            "const slider = document.getElementById('cycle'); slider.value = arguments[0];"
            "slider.dispatchEvent(new Event('input'))",
            cycle,
        )
        frame(driver)
        row = result.link_time.to_numpy()[cycle]
        busy, blocked = np.count_nonzero((row > 0) & (row < 255)), np.count_nonzero(row == 255)
        used = buffers_in_use(made.raw, cycle)
        assert text(driver, ".now") == (
            f"cycle {cycle}: {busy} links busy, {blocked} blocked; buffers with flits: {used}"
        )
    # Something of every view is drawn.
    for name in ("torus", "linkTime", "spaceTime"):
        colours = driver.execute_script(
            "const canvas = document.querySelector(arguments[0]);"
            "const image = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);"
            "return new Set(new Uint32Array(image.data.buffer)).size",
            f"canvas.{name}",
        )
        assert colours > 3, name


#: Counts what a page does while it opens.
COUNT = """
globalThis.work = {};
const count = (owner, name) => {
  const before = owner.prototype[name];
  owner.prototype[name] = function (...all) {
    work[name] = (work[name] ?? 0) + 1;
    return before.apply(this, all);
  };
};
for (const name of ["clearRect", "lineTo", "stroke", "putImageData"]) count(CanvasRenderingContext2D, name);
count(Element, "getBoundingClientRect");
count(Document, "createElement");
"""


def test_opening_a_page_does_everything_once(show, driver):
    network = fl.Network(fl.Torus(16, 16))
    made = film(network, fl.Collective("shfl", payload=28, slices=4, interval=60))
    asked = driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": COUNT})
    try:
        show(made)
        frame(driver)
        work = driver.execute_script("return work")
        size = driver.execute_script("return document.documentElement.outerHTML.length")
    finally:
        driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", asked)
    # Three pictures, each measured, cleared and drawn a single time.
    assert (work["clearRect"], work["getBoundingClientRect"], work["putImageData"]) == (3, 3, 1)
    # A line per link, the corners of the bands of a ring, and little more.
    links, hops = 4 * network.nodes, len(made.raw["hops"]["link"])
    assert links <= work["lineTo"] < links + 3 * hops // 16 + 50
    assert work["stroke"] < 40
    assert work["createElement"] < 100
    assert size < 115_000


def test_it_plays_and_steps_with_the_keyboard(show):
    driver = show(film(NETWORK, TRAFFIC))
    number = lambda: int(text(driver, "#number").split(" / ")[0])  # noqa: E731
    last = int(text(driver, "#number").split(" / ")[1])
    press(driver, "ARROW_RIGHT", "ARROW_RIGHT", "ARROW_LEFT")
    assert number() == 1
    press(driver, "END", "ARROW_RIGHT")
    assert number() == last
    press(driver, "HOME")
    assert number() == 0
    press(driver, "c")
    assert driver.execute_script("return document.getElementById('mode').value") == "load"
    driver.execute_script("document.getElementById('speed').value = '300'")
    press(driver, "SPACE")
    from selenium.webdriver.support.wait import WebDriverWait

    WebDriverWait(driver, 30).until(lambda _: number() == last)
    assert text(driver, "#play") == "Play"


def test_a_link_is_chosen_by_keys_and_by_pointing_and_its_packet_is_told(show):
    driver = show(film(NETWORK, TRAFFIC))
    result = fl.simulate(NETWORK, TRAFFIC, packets=True)
    driver.execute_script("document.querySelector('canvas.torus').focus()")
    press(driver, "ARROW_RIGHT", "d", selector="canvas.torus")
    link = re.match(r"Link \((\d),(\d)\)([+-][xy])", text(driver, "#inspector")).groups()
    assert link == ("0", "0", "-x")
    # The most loaded link at a cycle in which a flit crosses it.
    driver.execute_script("document.querySelector('.run details').open = true")
    row = driver.find_element("css selector", ".run details tbody tr")
    name, flits = (
        row.find_element("css selector", "button").text,
        int(row.find_elements("css selector", "td")[1].text),
    )
    assert flits == int(result.links.flits.max())
    first = next(entry["first"] for entry in result.link_rows() if entry["link"] == name)
    driver.execute_script(
        "const slider = document.getElementById('cycle'); slider.value = arguments[0];"
        "slider.dispatchEvent(new Event('input'))",
        first,
    )
    driver.execute_script("document.querySelector('.run details tbody button').click()")
    told = text(driver, "#inspector")
    assert f"Link {name}: {flits} flits" in told
    assert "it carries a flit of slice 1." in told
    source, destination, arrival = re.search(
        r"Packet from \((\d,\d)\) to \((\d,\d)\), slice 1, .* delivered in cycle (\d+)", told
    ).groups()
    node = lambda place: int(place[0]) + 8 * int(place[2])  # noqa: E731
    packets = result.packets.to_dataframe().query(f"source == {node(source)} and slice == 0")
    assert packets.destination.tolist() == [node(destination)]
    assert packets.tail_arrival.tolist() == [int(arrival)]


def test_it_fits_a_narrow_screen_and_has_names_for_readers(show):
    driver = show(film(NETWORK, TRAFFIC, "unison"), film(NETWORK, TRAFFIC, "again"))
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 375, "height": 800, "deviceScaleFactor": 1, "mobile": True},
    )
    frame(driver)
    assert driver.execute_script("return document.documentElement.scrollWidth") == 375
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    for element in driver.find_elements("css selector", "canvas, button, select, input"):
        if element.is_displayed():
            assert element.accessible_name.strip(), element.get_attribute("outerHTML")
    assert [head.text for head in driver.find_elements("css selector", "#facts thead th")] == [
        "",
        "unison",
        "again",
    ]
    paper = lambda: driver.execute_script("return getComputedStyle(document.body).backgroundColor")  # noqa: E731
    before = paper()
    button = driver.find_element("id", "theme")
    assert button.get_attribute("aria-pressed") == "false"
    button.click()
    assert paper() != before
    assert button.get_attribute("aria-pressed") == "true"


def test_the_theme_of_the_system_is_followed(show):
    from selenium.webdriver.support.wait import WebDriverWait

    driver = show(film(fl.Network(fl.Torus(4, 4)), fl.Collective("shfl")))
    dark = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", dark)
    try:
        driver.refresh()
        WebDriverWait(driver, 30).until(lambda one: one.execute_script("return document.body.dataset.ready"))
        assert driver.execute_script("return document.documentElement.dataset.theme") == "dark"
        assert driver.find_element("id", "theme").get_attribute("aria-pressed") == "true"
    finally:
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_the_cycle_of_a_deadlock_is_shown(show):
    ring = fl.Network(fl.Torus(8), fl.Router(channels=1))
    made = film(ring, fl.Load("rand", rate=0.9, length=8, cycles=2000))
    with pytest.raises(fl.DeadlockError) as error:
        fl.simulate(ring, fl.Load("rand", rate=0.9, length=8, cycles=2000))
    driver = show(made)
    assert f"deadlock in cycle {error.value.cycle}" in text(driver, "tr[data-fact=outcome] td")
    assert len(driver.find_elements("css selector", ".deadlock li")) == len(error.value.channels)


def test_a_route_of_tables_is_looked_up(show):
    tables = fl.tables.make(fl.Torus(4, 4))
    driver = show(Loads(tables, tables.bound))
    for name, value in (("source", 1), ("destination", 14)):
        driver.execute_script(
            "const field = document.getElementById(arguments[0]); field.value = arguments[1];"
            "field.dispatchEvent(new Event('input'))",
            name,
            value,
        )
    route = tables.path(1, 14)
    assert text(driver, "#inspector").startswith(f"Route over {len(route) - 1} links: (1,0)")
    assert text(driver, "tr[data-fact='largest load'] td") == f"{tables.max_load} routes"


def at(driver, cycle):
    driver.execute_script(
        "const slider = document.getElementById('cycle'); slider.value = arguments[0];"
        "slider.dispatchEvent(new Event('input'));"
        "slider.dispatchEvent(new Event('change'))",
        cycle,
    )
    frame(driver)


def pointed(driver, link):
    """What is told of the link under the pointer, with the pointer on its middle."""
    driver.execute_script(
        """
        const [number] = arguments;
        const canvas = document.querySelector("canvas.torus");
        const { lines } = globalThis.flitloomPanels[0].torus.plan;
        const middle = [0, 1].map((axis) => (lines[4 * number + axis] + lines[4 * number + 2 + axis]) / 2);
        const [x, y] = globalThis.flitloomPanels[0].torus.place(...middle);
        const box = canvas.getBoundingClientRect();
        const there = { clientX: box.left + x, clientY: box.top + y, bubbles: true };
        canvas.dispatchEvent(new PointerEvent("pointermove", there));
        """,
        link,
    )
    frame(driver)
    return text(driver, "#inspector")


def test_a_plan_goes_step_by_step_and_names_the_chunk_under_the_pointer(show):
    plan = fl.collectives.plan(fl.Torus(4, 4), "all-gather")
    driver = show(Steps(plan))
    assert text(driver, "label[for=cycle]") == "Step"
    assert text(driver, "tr[data-fact=steps] td") == "4, proven optimal"
    moves = plan.expanded().moves
    for step in (0, 3):
        at(driver, step)
        here = [row for row in moves if row[0] == step]
        told = text(driver, ".now")
        assert told.startswith(f"step {step}: {len(here)} links carry copies")
        assert f", {64 - len(here)} idle" in told
        _, start, end, owner, _ = here[5]
        link = wires.grid_links(plan.ground)[start, end][0]
        name = f"({owner % 4},{owner // 4})"
        assert f"in step {step} it carries the chunk of node {name}" in pointed(driver, link)
    busy = {(row[1], row[2]) for row in moves if row[0] == 3}
    idle = next(ends for ends in plan.ground.links if ends not in busy)
    assert "idle in step 3." in pointed(driver, wires.grid_links(plan.ground)[idle][0])


def test_links_of_a_twisted_torus_are_told_with_their_ends(show):
    plan = fl.collectives.plan(fl.Torus(4, 4, 8, twist=True), "all-gather")
    driver = show(Steps(plan))
    for here, there in ((3, 64), (12, 64), (112, 0)):
        x, y, z = plan.ground.point(there)
        told = pointed(driver, wires.grid_links(plan.ground)[here, there][0])
        assert f" to ({x},{y},{z}): busy in " in told


def test_bent_links_of_a_product_are_found(show):
    plan = fl.collectives.plan(fl.Product("full4 x ring3"), "all-gather")
    driver = show(Steps(plan))
    made = wires.wiring(plan.ground)
    driver.execute_script("document.querySelector('canvas.torus').focus()")
    press(driver, "ARROW_RIGHT", "d", selector="canvas.torus")
    first = sorted(end for start, end in made.links if start == 0)[1]
    assert text(driver, "#inspector").startswith(f"Link (0,0) -> ({first},0): busy in ")


def test_ranks_and_loads_of_a_placement_are_told(show):
    traffic = fl.placing.axes_traffic(fl.placing.parse_axes("data=4:ring:8,expert=4:a2a:1"))
    placed = fl.placing.place(fl.Torus(4, 4), traffic)
    driver = show(*seats_of(placed.document()))
    rank = placed.nodes.tolist().index(0)
    told = pointed(driver, 0)
    assert told.startswith(
        f"placed. Link (0,0)+x: load {placed.loads[0]} of at most {placed.busiest_channel}"
    )
    assert f"Node (0,0) has rank {rank}" in told


def test_full_links_are_dark_on_white_and_bright_on_black(show):
    tables = fl.tables.make(fl.Torus(4, 4))
    driver = show(Loads(tables, tables.bound))
    ends = "return getComputedStyle(document.querySelector('.scale')).backgroundImage"
    sum_of = lambda colour: sum(map(int, colour.split(",")))  # noqa: E731
    for dark in (False, True):
        if dark != (driver.execute_script("return document.documentElement.dataset.theme") == "dark"):
            driver.find_element("id", "theme").click()
        scale = re.findall(r"rgb\(([^)]*)\)", driver.execute_script(ends))
        assert (sum_of(scale[0]) < sum_of(scale[-1])) == dark
