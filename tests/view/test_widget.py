"""The page as a widget of a notebook: what its model holds, and what it does in a real browser."""

import base64
import json
import sys

import pytest

import flitloom as fl
from browser import start
from flitloom.view import Loads, film, widget, write_page
from flitloom.view.page import PARTS

NETWORK = fl.Network(fl.Torus(8, 8))
TRAFFIC = fl.Collective("shfl", payload=14, slices=2, interval=20)


def test_a_widget_holds_the_page_that_is_written(tmp_path):
    made = film(NETWORK, TRAFFIC)
    shown = made.widget(cycle=7)
    state = shown.get_state()
    write_page([made], tmp_path / "page.html")
    assert state["page"] == (tmp_path / "page.html").read_text(encoding="utf-8")
    assert (state["cycle"], state["playing"], state["link"]) == (7, False, "")
    assert state["title"] == "shfl on 8x8 torus, 14 payload flits in 2 slices"
    assert state["_esm"] == (PARTS / "widget.js").read_text(encoding="utf-8")
    seen = []
    shown.observe(lambda change: seen.append(change.new), "cycle")
    # What a browser sends.
    shown.set_state({"cycle": 12, "link": "(1,0)+x"})
    assert (shown.cycle, shown.link, seen) == (12, "(1,0)+x", [12])


def test_plans_before_and_after_and_tables_are_widgets_too():
    plan = fl.plans.search(NETWORK, TRAFFIC)
    page = widget(film(NETWORK, TRAFFIC, "unison"), film(NETWORK, plan, "planned"), title="both").page
    assert "<title>both</title>" in page
    assert '"title":"unison"' in page
    assert '"title":"planned"' in page
    tables = fl.tables.make(fl.Torus(4, 4))
    assert widget(Loads(tables, tables.bound)).title == tables.method


def test_a_missing_anywidget_is_named(monkeypatch):
    made = film(fl.Network(fl.Torus(4)), fl.Collective("next"))
    monkeypatch.delitem(sys.modules, "flitloom.view.frame", raising=False)
    monkeypatch.setitem(sys.modules, "anywidget", None)
    message = r'a widget needs anywidget, .* pip install "flitloom\[notebook\]"'
    with pytest.raises(fl.FlitloomError, match=message):
        made.widget()


HOST = """<!doctype html><title>host</title><div id="cell"></div><script type="module">
import view from "@MODULE@";
const listeners = {};
const values = @STATE@;
window.model = {
  get: (name) => values[name],
  set(name, value) {
    if (values[name] === value) return;
    values[name] = value;
    for (const listener of listeners[`change:${name}`] ?? []) listener();
  },
  save_changes() { window.saved = { ...values }; },
  on(name, listener) { (listeners[name] ??= []).push(listener); },
  off(name, listener) { listeners[name] = listeners[name].filter((one) => one !== listener); },
};
window.end = view.render({ model: window.model, el: document.getElementById("cell") });
</script>"""


def test_model_and_page_follow_each_other_in_a_browser(tmp_path):
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.wait import WebDriverWait

    state = film(NETWORK, TRAFFIC).widget(cycle=9, height=700).get_state()
    names = ("page", "title", "cycle", "playing", "link", "height")
    module = "data:text/javascript;base64," + base64.b64encode(state["_esm"].encode()).decode()
    values = json.dumps({name: state[name] for name in names}).replace("<", "\\u003c")
    host = HOST.replace("@MODULE@", module).replace("@STATE@", values)
    (tmp_path / "host.html").write_text(host, encoding="utf-8")
    driver = start()
    try:
        driver.get((tmp_path / "host.html").as_uri())
        model = lambda name: driver.execute_script("return model.get(arguments[0])", name)  # noqa: E731
        until = lambda test: WebDriverWait(driver, 30).until(lambda _: test())  # noqa: E731

        def inside(ask):
            driver.switch_to.frame(0)
            try:
                return ask()
            finally:
                driver.switch_to.default_content()

        number = lambda: inside(lambda: driver.find_element("id", "number").text.split(" / ")[0])  # noqa: E731
        # What the model said before the page was there is shown.
        until(lambda: number() == "9")
        assert driver.find_element("tag name", "iframe").size["height"] == 700
        driver.execute_script("model.set('cycle', 30)")
        until(lambda: number() == "30")
        assert "cycle 30: " in inside(lambda: driver.find_element("css selector", ".now").text)
        inside(lambda: driver.find_element("id", "forward").click())
        until(lambda: model("cycle") == 31)
        inside(lambda: driver.find_element("css selector", "canvas.torus").send_keys(Keys.ARROW_RIGHT))
        until(lambda: model("link") == "(0,0)+x")
        assert driver.execute_script("return saved.cycle") == 31
        driver.execute_script("model.set('playing', true)")
        until(lambda: model("cycle") > 32)
        driver.execute_script("model.set('playing', false)")
        until(lambda: inside(lambda: driver.find_element("id", "play").text) == "Play")
        assert driver.get_log("browser") == []
        # A cell that is cleared listens no more.
        driver.execute_script("end(); model.set('cycle', 2)")
        assert model("cycle") == 2
    finally:
        driver.quit()
