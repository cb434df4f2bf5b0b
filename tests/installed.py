"""An installed wheel, without this repository: its size, how it starts, and the walks of the site.

``python tests/installed.py dist/flitloom-*.whl`` installs it into a fresh environment (``make installed``).
"""

import json
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: Megabytes that an installation without extras may take.
LARGEST = 300
EXTRAS = "plots,plan,parquet,graphs,notebook,mpi"


def megabytes(folder):
    """Size of all files below a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


def printed(*command, folder, code=0):
    """What a command prints; it must end with `code`."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == code, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout or done.stderr


def check(wheel, folder):
    """Install a wheel and use it as a stranger would."""
    place = folder / "environment"
    venv.create(place, with_pip=True)
    programs = place / "bin"
    packages = next(place.glob("lib/python*/site-packages"))
    empty = megabytes(packages)
    printed(programs / "pip", "install", "-q", wheel, folder=folder)
    size = megabytes(packages) - empty
    own = megabytes(packages / "flitloom")
    print(f"flitloom and what it needs: {size:.0f} MB, of which flitloom {own:.0f} MB")
    assert size < LARGEST
    flitloom = programs / "flitloom"
    print(printed(flitloom, "--version", folder=folder).strip())
    for row in json.loads(printed(flitloom, "bench", "start", "--seconds", "1", "--json", folder=folder)):
        print(f"{row['start']}: {row['seconds']} s of CPU time")
    refused = printed(flitloom, "demo", folder=folder, code=2)
    assert 'pip install "flitloom[plots]"' in refused, refused
    printed(flitloom, "examples", "copy", folder=folder)
    printed(flitloom, "simulate", "examples/failures.toml", folder=folder)
    printed(flitloom, "route", "--torus", "4x3", "-o", "tables.json", folder=folder)
    printed(flitloom, "check", "tables.json", "--certificate", "certificate.json", folder=folder)
    verdict = printed(flitloom, "recheck", "tables.json", "certificate.json", folder=folder)
    assert verdict.startswith("certificate holds")
    printed(flitloom, "view", "--live", "-o", "live.html", folder=folder)
    printed(programs / "pip", "install", "-q", f"{wheel}[{EXTRAS}]", "pytest", folder=folder)
    print(f"with all extras: {megabytes(packages) - empty:.0f} MB")
    # The walks, without the repository around them.
    own = ["tests/docs/walks", "tests/docs/test_walks.py"]
    own += [f"tests/{name}.py" for name in ("browser", "pictures", "places", "sample")]
    for part in ("docs/walks", "docs/index.md", *own):
        source, target = ROOT / part, folder / "walks" / part
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
    walked = printed(
        programs / "python", "-m", "pytest", "-q", "-o", "pythonpath=tests", "tests", folder=folder / "walks"
    )
    print(f"walks: {walked.splitlines()[-1]}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        check(Path(sys.argv[1]).resolve(), Path(made))
