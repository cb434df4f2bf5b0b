"""Walks of users: those of the site do what they say, and sessions from a question to an answer find it.

The pages of the site and the README have commands, Python and what both print, in full.
``PYTHONPATH=tests python tests/docs/test_walks.py [PAGE ...]`` writes into them what every block prints here.
Sessions (``tests/docs/walks``) assert what their user would look for: numbers that agree between verbs, exit
codes, files. Their pictures are looked at by machine, and what they leave is opened by other programs.
"""

import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from contextlib import chdir, redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import pytest

from browser import start
from once import once, shared
from places import COMPARED, ROOT, TESTS
from warm_commands import LOOKS

FOLDER = Path(__file__).with_name("walks")
#: Sessions, and whether they are left to `make test-all`.
SESSIONS = {
    "architect.sh": True,
    "astra-sim.sh": True,
    "booksim.sh": True,
    "dask-user.py": True,
    "jax-user.py": True,
    "library-author.sh": False,
    "operator.sh": True,
    "researcher.py": False,
    "teacher.sh": True,
}
#: Packages that sessions need and a machine may lack.
NEEDED = {"dask-user.py": "distributed", "jax-user.py": "jax"}
#: A program that runs a file, and looks at every picture before it is written.
LOOKING = """\
#!{python}
import runpy, sys
sys.path.insert(0, {tests!r})
from matplotlib.figure import Figure
from pictures import looked_at
seen = []
Figure.savefig = looked_at(Figure.savefig, seen)
try:
    runpy.run_path(sys.argv[1], run_name="__main__")
finally:
    wrong = [fault for _, found in seen for fault in found]
    if wrong:
        print("\\n".join(wrong), file=sys.stderr)
        sys.exit(70)
"""
WALKS = sorted((ROOT / "docs" / "walks").glob("*.md"))
#: All pages whose blocks of text are what the block before them prints.
SHOWN = [*COMPARED, *WALKS]
#: Those left to `make test-all`.
LONG = {"README", "architect", "booksim2", "papers", "three-routers"}
#: How long something took differs from run to run.
TIMED = re.compile(r"^((?:time|found in) +)[0-9.]+ [mu]?s$", re.MULTILINE)
BLOCK = re.compile(r"^```(sh|python|py|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def steps(page):
    """Pairs of a block that is run and what it prints, None where the page does not say."""
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    for number, (kind, text) in enumerate(blocks):
        if kind != "text":
            after = blocks[number + 1] if number + 1 < len(blocks) else ("", "")
            yield kind, text, after[1] if after[0] == "text" else None


def timeless(text):
    """A text without how long something took; blanks at the ends of lines do not count."""
    return TIMED.sub(r"\1...", "\n".join(line.rstrip() for line in text.strip("\n").splitlines()))


def rewritten(page, folder):
    """A page with what its blocks print here."""
    text = page.read_text(encoding="utf-8")
    for command, expected, printed in outcomes(page, folder, Path(sys.executable).parent):
        if expected is not None and timeless(printed) != timeless(expected):
            shown = "\n".join(line.rstrip() for line in printed.strip("\n").splitlines())
            after = f"```text\n{expected}```"
            place = text.index(after, text.index(f"{command}```"))
            text = f"{text[:place]}```text\n{shown}\n```{text[place + len(after) :]}"
    return text


def lacking(text):
    """A package that Python needs and that is not installed, if there is one."""
    named = re.findall(r"^(?:import|from) ([a-z_]+)", text, re.MULTILINE)
    return next((name for name in named if find_spec(name) is None), None)


def outcomes(page, folder, programs):
    """What every block of a page prints, run in a folder with the ``flitloom`` of another.

    A ``py`` block is a program, and is run if the page has its output and all its packages are installed.
    """
    names = {}
    environment = {**os.environ, "PATH": f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for kind, text, expected in steps(page):
        if kind == "py" and (expected is None or lacking(text)):
            continue
        if kind in ("sh", "py"):
            done = subprocess.run(
                ["bash", "-e", "-c", text] if kind == "sh" else [sys.executable, "-c", text],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, f"{text}{done.stderr}"
            yield text, expected, done.stdout
        else:
            printed = io.StringIO()
            with chdir(folder), redirect_stdout(printed):
                exec(compile(text, str(page), "exec"), names)
            yield text, expected, printed.getvalue()


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.long if page.stem in LONG else (), id=page.stem) for page in SHOWN],
)
# Dask warns of a busy machine.
@pytest.mark.filterwarnings("ignore:::distributed")
def test_a_page_prints_what_it_says(page, tmp_path, programs):
    compared = 0
    for text, expected, printed in outcomes(page, tmp_path, programs):
        if expected is None:
            continue
        compared += 1
        assert timeless(printed) == timeless(expected), text
    assert compared >= 3
    shown = [text for kind, text, expected in steps(page) if kind == "py" and expected is not None]
    if missing := next(filter(None, map(lacking, shown)), None):
        pytest.skip(f"{missing} is not installed; all else agrees")


def test_there_is_a_walk_for_every_role():
    index = (WALKS[0].parents[1] / "index.md").read_text(encoding="utf-8")
    assert len(WALKS) == 11
    assert all(f"(walks/{page.name})" in index for page in WALKS)


@pytest.fixture(scope="session")
def places(tmp_path_factory):
    """A folder for all sessions, one for all processes of a test run."""
    return shared(tmp_path_factory, "sessions")


def walked(name, place, programs):
    """The folder that a session leaves, and what it said if it failed; it is run once."""
    if name in NEEDED and find_spec(NEEDED[name]) is None:
        pytest.skip(f"{NEEDED[name]} is not installed")
    return once(place, Path(name).stem, lambda folder: walk(name, folder, programs))


def walk(name, folder, programs):
    """Run a session in a folder; what it said if it failed."""
    looking = folder.parent / f"{name}-looking"
    looking.write_text(LOOKING.format(python=sys.executable, tests=str(TESTS)), encoding="utf-8")
    looking.chmod(0o755)
    path = f"{programs}/{LOOKS}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        [str(looking) if name.endswith(".py") else "bash", str(FOLDER / name)],
        cwd=folder,
        env={**os.environ, "PATH": path, "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if done.returncode == 0 else f"exit code {done.returncode}\n{done.stdout}{done.stderr}"


def sessions():
    return [
        pytest.param(name, marks=pytest.mark.long if is_long else (), id=Path(name).stem)
        for name, is_long in SESSIONS.items()
    ]


def opened(file):
    """Open a file with a program that is not flitloom; what it holds."""
    match file.suffix:
        case ".png":
            from PIL import Image

            with Image.open(file) as image:
                image.load()
                return min(image.size) >= 200 and len(image.convert("L").getcolors(256)) > 2
        case ".json":
            return json.loads(file.read_text(encoding="utf-8")) is not None
        case ".csv":
            with file.open(newline="", encoding="utf-8") as rows:
                return len({len(row) for row in csv.reader(rows) if row}) == 1
        case ".xml":
            return len(ElementTree.parse(file).getroot()) > 0
        case ".nc":
            import h5py

            with h5py.File(file) as data:
                return len(data) > 0
        case ".toml":
            import tomllib

            return bool(tomllib.loads(file.read_text(encoding="utf-8")))
    return True


@pytest.mark.parametrize("name", sessions())
def test_a_session_finds_its_answer(name, places, programs):
    folder, failed = walked(name, places, programs)
    assert not failed, failed
    files = [file for file in folder.rglob("*") if file.is_file()]
    made = [file for file in files if "examples" not in file.parts]
    assert len(made) >= 7
    assert [file.name for file in made if not opened(file)] == []
    assert any(file.suffix == ".png" for file in made)


@pytest.mark.parametrize("name", [one for one in sessions() if one.id not in ("researcher", "dask-user")])
def test_the_pages_of_a_session_open_in_a_browser(name, places, programs):
    pytest.importorskip("selenium")
    from selenium.webdriver.support.wait import WebDriverWait

    driver = start()
    try:
        folder, failed = walked(name, places, programs)
        assert not failed, failed
        for page in sorted(folder.glob("*.html")):
            driver.get(page.as_uri())
            ready = "return document.body.dataset.ready"
            WebDriverWait(driver, 60).until(lambda one, ready=ready: one.execute_script(ready))
            assert driver.find_elements("css selector", "canvas"), page.name
            assert driver.get_log("browser") == [], page.name
    finally:
        driver.quit()


def test_there_is_a_session_for_every_kind_of_user():
    assert {file.name for file in FOLDER.iterdir()} == {*SESSIONS, "session.sh"}
    for name in SESSIONS:
        text = (FOLDER / name).read_text(encoding="utf-8")
        asked = len(re.findall(r"^(?:flitloom|holds|ends) |\bassert |^  flitloom ", text, re.MULTILINE))
        assert asked >= 20, name


if __name__ == "__main__":
    assert {*sys.argv[1:]} <= {page.stem for page in SHOWN}, "pages are named without folder and ending"
    for page in SHOWN:
        if page.stem in sys.argv[1:] or not sys.argv[1:]:
            with tempfile.TemporaryDirectory() as place:
                page.write_text(rewritten(page, Path(place)), encoding="utf-8")
