"""What starting flitloom costs: nothing heavy is imported before it is used, and extras may be missing."""

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib import import_module

import pytest

import flitloom as fl
from flitloom.commands import VERBS, run
from flitloom.ground.extras import EXTRAS, need
from flitloom.verbs import overview
from places import ROOT

HEAVY = {
    "anywidget", "h5netcdf", "h5py", "highspy", "matplotlib", "mpi4py", "networkx", "ortools", "pandas",
    "pyarrow", "rich", "scipy", "xarray",
}  # fmt: skip
PROJECT = ROOT / "pyproject.toml"


def imported(code):
    """Top-level modules that a fresh interpreter has imported after `code`."""
    ask = f"import json, sys\n{code}\nsys.stderr.write(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in json.loads(done.stderr)}


@pytest.mark.parametrize(
    "code",
    [
        "import flitloom",
        "from flitloom.commands import run; run(['--help'])",
        "from flitloom.commands import run; run(['--version'])",
        "from flitloom.commands import run; run(['simulat'])",
        "from flitloom.commands import run; run('simulate --torus 8x8 --pattern shfl --json'.split())",
    ],
)
def test_nothing_heavy_is_imported_before_it_is_used(code):
    assert imported(code.replace("run(['simulat'])", "sys.stderr = open('/dev/null', 'w'); run(['simulat']); "
                    "sys.stderr = sys.__stderr__")) & HEAVY == set()  # fmt: skip


def test_importing_flitloom_does_not_import_numpy():
    assert imported("import flitloom, flitloom.commands") & {"numpy", "pydantic", "typer"} == set()
    assert imported("from flitloom.commands import run; run(['--help'])") & {"numpy", "pydantic"} == set()


def test_a_run_imports_nothing_of_placements():
    words = "simulate --torus 4x4 --pattern shfl --json"
    ask = f"import sys; from flitloom.commands import run; run({words.split()})"
    found = "' '.join(name for name in sys.modules if 'placing' in name or 'seating' in name)"
    code = f"{ask}; sys.stderr.write({found})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["packets_delivered"] > 0
    assert done.stderr == ""


def test_the_help_of_a_verb_imports_nothing_that_takes_time():
    verbs = "[run([verb, '--help']) for verb in VERBS if verb != 'papers']"
    assert imported(f"from flitloom.commands import VERBS, run; {verbs}") & (HEAVY | {"numpy"}) == set()


def test_the_overview_is_that_of_the_parser_in_every_width(monkeypatch, capsys):
    for columns in (*range(40, 112), 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert run(["--help"]) == 0
        assert overview.overview(columns) == capsys.readouterr().out, columns


def test_the_overview_needs_no_parser():
    code = "import flitloom.__main__, sys; sys.argv[1:] = ['--help']"
    found = imported(f"{code}\ntry: flitloom.__main__.main()\nexcept SystemExit as end: assert end.code == 0")
    assert found & (HEAVY | {"numpy", "pydantic", "typer", "typing"}) == set()


def test_every_public_name_is_there():
    namespace = {}
    exec("from flitloom import *", namespace)
    assert set(fl.__all__) <= set(namespace)
    assert set(fl.__all__) <= set(dir(fl))
    with pytest.raises(AttributeError, match="has no attribute 'simulat'"):
        _ = fl.simulat


def test_the_list_of_verbs_says_what_their_own_help_says(capsys):
    for verb, summary in VERBS.items():
        assert run([verb, "--help"]) == 0
        assert " ".join(capsys.readouterr().out.split()).partition("] ")[2].count(summary), verb


def test_every_extra_of_the_package_is_known():
    extras = tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"]
    assert set(extras) == {*EXTRAS, "all"}
    for extra, modules in EXTRAS.items():
        need(extra, "this test")
        for module in modules:
            package = {"yaml": "pyyaml"}.get(module, module)
            assert any(re.split(r"\W", wanted)[0] == package for wanted in extras[extra])
            import_module(module)


@pytest.mark.parametrize(
    ("module", "arguments", "message"),
    [
        ("matplotlib", ("simulate", "--torus", "4x4", "--pattern", "shfl", "--picture", "c.png"),
         '--picture needs matplotlib, which is not installed; pip install "flitloom[plots]"'),
        ("matplotlib", ("route", "--torus", "4x4", "--picture", "c.png"), 'pip install "flitloom[plots]"'),
        ("matplotlib", ("demo",), 'pip install "flitloom[plots]"'),
        ("ortools", ("schedule", "--torus", "4x4", "--pattern", "shfl", "--cp-sat", "1s"),
         'pip install "flitloom[plan]"'),
    ],
)  # fmt: skip
def test_a_missing_extra_is_named_before_any_work(module, arguments, message, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, module, None)
    assert run(list(arguments)) == 2
    out, err = capsys.readouterr()
    assert (out, list(tmp_path.iterdir())) == ("", [])
    assert message in err
    assert err.count("\n") == 1


def test_the_benchmark_of_starting_runs_what_it_names(capsys):
    assert run(["bench", "start", "--seconds", "0.001", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["start"] for row in rows][:2] == ["import flitloom", "flitloom --help"]
    assert all(row["seconds"] > 0 and row["starts"] >= 3 for row in rows)


def test_an_extension_that_is_older_than_its_sources_is_told_in_a_sentence(tmp_path, monkeypatch, capsys):
    from flitloom import commands
    from flitloom.commands import stale

    package = tmp_path / "python" / "flitloom"
    package.mkdir(parents=True)
    monkeypatch.setattr(stale.reason, "__defaults__", (package,))

    def broken(_arguments):
        raise KeyError("forwarding_methods")

    monkeypatch.setattr(commands, "run", broken)
    # A wheel has no sources, so the error is one of the program.
    with pytest.raises(KeyError):
        commands._run_or_say_why(["version"])
    (tmp_path / "core" / "src").mkdir(parents=True)
    source = tmp_path / "core" / "src" / "lib.rs"
    source.write_text("")
    assert commands._run_or_say_why(["version"]) == 2
    assert (
        capsys.readouterr().err == "error: the extension flitloom._core is not built; make build builds it\n"
    )
    built = package / "_core.abi3.so"
    built.write_text("")
    os.utime(built, (1, 1))
    assert commands._run_or_say_why(["version"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(
        "error: the extension flitloom._core is older than core/src/lib.rs; make build builds"
    )
    assert "KeyError: 'forwarding_methods'" in said
    assert said.count("\n") == 1
    with pytest.raises(KeyError):
        commands._run_or_say_why(["-v", "version"])
    os.utime(source, (0, 0))
    with pytest.raises(KeyError):
        commands._run_or_say_why(["version"])
