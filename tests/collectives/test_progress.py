"""Long work on plans in steps says how far it is, by what is done and not by the clock."""

import io
import json

import pytest

import flitloom as fl
from flitloom.collectives.checking import check_collective
from flitloom.collectives.reading import read_collective
from flitloom.commands import run, screen
from flitloom.programs import recheck

DAMAGED = fl.Torus(4, 4, failed_nodes=[5])
Heard = list[tuple[int, int]]


def ends(heard: Heard) -> tuple[tuple[int, int], tuple[int, int]]:
    """The first and the last telling, of work that takes nothing back."""
    assert heard == sorted(heard)
    assert len({total for _, total in heard}) == 1
    return heard[0], heard[-1]


def test_replays_are_told_move_by_move(tmp_path) -> None:
    plan = fl.collectives.plan(DAMAGED, "all-reduce")
    count = len(plan.sums) + len(plan.moves)
    heard: Heard = []
    check_collective(plan, lambda *told: heard.append(told))
    assert ends(heard) == ((0, count), (count, count))
    plan.save(tmp_path / "plan.json")
    heard.clear()
    assert read_collective(tmp_path / "plan.json", told=lambda *told: heard.append(told)) == plan
    assert ends(heard) == ((0, count), (count, count))


@pytest.mark.parametrize("operation", ["all-reduce", "all-to-all", "broadcast"])
@pytest.mark.parametrize("network", [DAMAGED, fl.Torus(4, 4)], ids=str)
def test_searches_are_told_to_their_end(network, operation) -> None:
    heard: Heard = []
    plan = fl.collectives.plan(network, operation, told=lambda *told: heard.append(told))
    assert ends(heard) == ((0, 100), (100, 100))
    assert len(heard) >= 4
    assert plan == fl.collectives.plan(network, operation)


def test_commands_that_read_a_plan_show_it(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    heard: dict[str, Heard] = {}
    shown = screen.several_progresses

    def hearing(units=None):
        inner = shown(units)

        class Both:
            def __enter__(self):
                show = inner.__enter__()

                def told(label, done, total):
                    heard.setdefault(label, []).append((done, total))
                    show(label, done, total)

                return told

            def __exit__(self, *problem):
                return inner.__exit__(*problem)

        return Both()

    monkeypatch.setattr(screen, "several_progresses", hearing)
    monkeypatch.setattr("flitloom.commands.inputs.converting.several_progresses", hearing)
    assert run(["collective", "all-gather", "--torus", "4x4", "--fail", "node:5", "-o", "plan.json"]) == 0
    assert ends(heard.pop("plan in steps")) == ((0, 100), (100, 100))
    count = len(json.loads((tmp_path / "plan.json").read_text())["moves"])
    for words, label in (
        ("check plan.json", "check of plan.json"),
        ("view plan.json -o plan.html", "check of plan.json"),
        ("simulate plan.json", "check of plan.json"),
        ("convert plan.json plan.xml", "read plan.json"),
    ):
        heard.clear()
        assert run(words.split()) == 0, words
        assert ends(heard[label]) == ((0, count), (count, count)), words
    capsys.readouterr()


def test_the_second_program_tells_a_terminal(tmp_path, monkeypatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    # More moves than those from one telling to the next.
    plan = fl.collectives.plan(fl.Torus(9, 8, failed_nodes=[5]), "all-gather")
    assert len(plan.moves) > 4096
    plan.save(tmp_path / "plan.json")
    terminal = Terminal()
    monkeypatch.setattr(recheck, "SOON", -1.0)
    monkeypatch.setattr("sys.stderr", terminal)
    recheck.verified_collective(json.loads((tmp_path / "plan.json").read_text()))
    assert f"of {len(plan.moves)} moves" in terminal.getvalue()
