"""The site is built without a warning: links lead somewhere, pages are reached, names are shown."""

import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from types import ModuleType
from urllib.parse import unquote, urlsplit

import pytest
from typer.main import get_command

import flitloom
from flitloom.commands import VERBS
from flitloom.commands.assembly import build
from flitloom.view.text import ENGINE
from once import once, shared
from places import ROOT

pytestmark = pytest.mark.long

#: The lessons of the live page.
LESSONS = (ENGINE.parent / "lessons.js").read_text(encoding="utf-8")
DOCS = ROOT / "docs"


#: Builds a site; the many small objects of its pages are looked through for dead ones less often.
BUILD = (
    "import gc, sys; gc.set_threshold(50_000, 50, 50); from sphinx.cmd.build import main; sys.exit(main())"
)
#: What commands of the gallery run with here instead; the rest of the line stays.
REDUCED = {
    "8x8 --pattern rand --rates 0.1:0.7:0.1 --measure 3000": "4x4 --pattern rand --rates 0.1:0.7:0.3",
    "--torus 16x16": "--torus 8x8",
    "traffic.rate=0.1:0.6:0.1 --seeds 3": "traffic.rate=0.1,0.6 --seeds 2",
    "--set topology.sizes=8x8": "--set topology.sizes=4x4",
}
#: The picture that the site itself draws.
DRAWN = "tables.png"


class Page(HTMLParser):
    """What a page links to, its anchors, its pictures and their descriptions."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors, self.pictures = [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if tag == "img":
            self.links.append(found["src"])
            self.pictures.append(found.get("alt"))


@pytest.fixture(scope="module")
def site(tmp_path_factory, programs):
    folder, said = once(shared(tmp_path_factory, "site"), "site", lambda folder: built(folder, programs))
    assert said == ""
    return folder / "html"


def built(folder, programs):
    """Build the site from a copy of the documents; what its builder says."""
    docs = shutil.copytree(DOCS, folder / "docs", ignore=shutil.ignore_patterns("_made"))
    # A page links to a schema of the package.
    (folder / "python").symlink_to(ROOT / "python")
    draw_gallery(docs / "_made" / "gallery", programs)
    options = ["-q", "-E", "-W", "--keep-going", "-b", "html", "-d", str(folder / "state")]
    command = [sys.executable, "-c", BUILD, *options, str(docs), str(folder / "html")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr.strip() if done.returncode == 0 else f"exit code {done.returncode}\n{done.stderr}"


def draw_gallery(place, programs):
    """Run the commands of the gallery, reduced, but for the one that is left to the site itself."""
    place.mkdir(parents=True)
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    blocks = re.findall(
        r"^```sh\n(.*?)^```", (DOCS / "gallery.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    own = [block for block in blocks if DRAWN in block]
    assert len(own) == 1
    for block in blocks:
        if block in own:
            continue
        for words, fewer in REDUCED.items():
            block = block.replace(words, fewer)
        done = subprocess.run(
            ["bash", "-e", "-c", block], cwd=place, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{block}\n{done.stderr}"


def test_every_link_leads_somewhere(site):
    pages = {file: Page(file.read_text(encoding="utf-8")) for file in site.rglob("*.html")}
    count = 0
    for file, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            assert target.exists(), f"{file.name}: {link}"
            if target.name == "live.html":
                # What follows # there is an experiment.
                lesson = parts.fragment.removeprefix("lesson=")
                assert f"\n  {lesson}: {{" in LESSONS, f"{file.name}: {link}"
            elif parts.fragment and target in pages:
                assert unquote(parts.fragment) in pages[target].anchors, f"{file.name}: {link}"
            count += 1
        assert all(page.pictures), f"{file.name}: a picture without a description"
    assert count > 500


def test_every_page_leads_to_others_and_is_led_to():
    pages = {page.resolve(): page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md")}
    pages = {page: text for page, text in pages.items() if "_made" not in page.parts}
    links = {
        page: {(page.parent / link).resolve() for link in re.findall(r"\]\(([^)#]+\.md)", text)}
        & pages.keys()
        for page, text in pages.items()
    }
    led = {target for page, targets in links.items() for target in targets - {page}}
    assert len(pages) > 25
    assert pages.keys() - led == {DOCS.resolve() / "index.md"}
    assert all(links.values()), [page.name for page, targets in links.items() if not targets]


def test_the_pages_need_no_network(site):
    for file in site.rglob("*.html"):
        loaded = re.findall(
            r'<(?:script|link|img)[^>]*(?:src|href)="(https?:[^"]+)"', file.read_text("utf-8")
        )
        assert loaded == [], file.name


def test_the_reference_shows_every_command_option_and_name(site):
    text = (site / "_made" / "commands.html").read_text(encoding="utf-8")
    for verb in VERBS:
        assert f">flitloom {verb}<" in text, verb
        pending = [get_command(build([verb])).commands[verb]]
        while pending:
            command = pending.pop()
            pending += getattr(command, "commands", {}).values()
            for parameter in command.params:
                for option in parameter.opts if parameter.param_type_name == "option" else ():
                    assert option in text or option in ("-h", "--help"), f"{verb} {option}"
    anchors = Page((site / "_made" / "python.html").read_text(encoding="utf-8")).anchors
    for name in (name for name in flitloom.__all__ if not name.startswith("_")):
        if isinstance(value := getattr(flitloom, name), ModuleType):
            own = {part for part in value.__all__ if callable(getattr(value, part))} - {*flitloom.__all__}
            assert {f"flitloom.{name}.{part}" for part in own} <= {*anchors}
        else:
            assert f"flitloom.{name}" in anchors


def test_walks_can_be_downloaded_as_notebooks(site):
    walks = sorted((DOCS / "walks").glob("*.md"))
    for walk in walks:
        book = json.loads((site / "notebooks" / f"{walk.stem}.ipynb").read_text(encoding="utf-8"))
        assert (book["nbformat"], len({cell["id"] for cell in book["cells"]})) == (4, len(book["cells"]))
        code = [cell["source"] for cell in book["cells"] if cell["cell_type"] == "code"]
        blocks = re.findall(r"^```(sh|python)\n(.*?)\n```", walk.read_text(encoding="utf-8"), re.M | re.S)
        assert code == [("%%bash\n" if kind == "sh" else "") + text for kind, text in blocks]
        links = Page((site / "walks" / f"{walk.stem}.html").read_text(encoding="utf-8")).links
        assert f"../notebooks/{walk.stem}.ipynb" in links


def test_the_live_page_is_the_first_thing_on_the_site(site):
    if not ENGINE.exists():
        pytest.skip("the engine of live pages is not built (make wasm)")
    front = (site / "index.html").read_text(encoding="utf-8")
    assert (site / "live.html").stat().st_size > 500_000
    assert 0 < front.index('src="live.html#lesson=slices') < front.index('id="where-to-begin"')


def test_commands_can_be_copied_and_pages_are_found_from_files(site):
    """In a browser that opened the files themselves, without a server."""
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.wait import WebDriverWait

    from browser import start

    driver = start()
    try:
        driver.get((site / "walks" / "teacher.html").as_uri())
        shown = driver.find_elements(By.CSS_SELECTOR, "button.copy")
        assert (
            len(shown) == len(driver.find_elements(By.CSS_SELECTOR, ".highlight-sh, .highlight-python")) > 4
        )
        ActionChains(driver).move_to_element(shown[0]).click(shown[0]).perform()
        WebDriverWait(driver, 10).until(
            lambda _: shown[0].text == "Copied" or shown[0].get_property("textContent") == "Copied"
        )
        driver.get((site / "search.html").as_uri() + "?q=saturation")
        found = "#search-results li a[href*='load.html']"
        WebDriverWait(driver, 20).until(lambda _: driver.find_elements(By.CSS_SELECTOR, found))
        assert [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"] == []
    finally:
        driver.quit()
