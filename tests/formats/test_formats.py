"""Every format of plans and message graphs keeps to its claims, and a new one is a file and a line."""

import re
from pathlib import Path

import pytest

import flitloom as fl
import fuzz_formats
from flitloom import formats
from flitloom.collectives.foreign import plan_of_moves
from flitloom.commands import run
from flitloom.formats import known
from flitloom.formats.format import Format, Writing, needed, sample
from flitloom.ground import limits
from flitloom.ground.outputs import write_lines
from flitloom.ground.reading import read_text
from flitloom.messages import MessageGraph
from flitloom.spec.ground import Ground

DOCS = Path(fl.__file__).parents[2] / "docs"
GROUND = Ground(fl.Torus(3, 2))
BY_NAME = {form.name: form for form in formats.FORMATS}


def of(name):
    return pytest.mark.parametrize(
        "form", formats.FORMATS if name is None else name, ids=lambda form: form.name
    )


def file_of(form, folder):
    """A good file of a format."""
    file = folder / ("x.0.et" if form.name == "chakra" else f"x{form.endings[0]}")
    file.write_bytes(form.seed())
    return file


def test_names_and_targets_are_unique():
    assert len(BY_NAME) == len(formats.FORMATS)
    targets = [form.target for form in formats.FORMATS if form.target]
    assert len(set(targets)) == len(targets)


@of(formats.FORMATS)
def test_a_good_file_is_known_for_what_it_is(form, tmp_path):
    found = formats.format_of(file_of(form, tmp_path))
    assert found is not None
    assert found.name == form.name


@of([form for form in formats.FORMATS if form.read_plan and form.name != "chakra"])
def test_a_good_plan_is_right(form, tmp_path):
    file = file_of(form, tmp_path)
    assert formats.check(file, GROUND)["passed"]
    assert formats.read_plan(file, GROUND).steps >= sample().steps


@of([form for form in formats.FORMATS if form.write_plan and form.name != "plan"])
def test_who_writes_a_plan_tells_how_far_it_is(form, tmp_path):
    told: list[tuple[int, int]] = []
    plan = fl.collectives.plan(fl.Torus(4, 4), "all-to-all")
    how = Writing(told=lambda done, total: told.append((done, total)))
    form.write_plan(plan, tmp_path / f"x{form.target}", how)
    assert len(told) > 1
    assert told == sorted(told)
    assert {total for _, total in told} == {16}
    assert told[-1] == (16, 16)


@of([form for form in formats.FORMATS if form.write_plan and form.read_plan])
def test_plans_come_back_from_what_they_were_written_as(form, tmp_path):
    plan = sample().expanded()
    file = tmp_path / f"x{form.target}"
    form.write_plan(plan, file, formats.Writing())
    assert formats.target_format(file).name == form.name
    again = formats.read_plan(tmp_path / "x.0.et" if form.name == "chakra" else file, GROUND)
    assert (again.steps, again.moves) == (plan.steps, plan.moves)


@of([form for form in formats.FORMATS if form.write_messages])
def test_messages_come_back_from_what_they_were_written_as(form, tmp_path):
    graph = MessageGraph.exchange(3, [(0, 2, 64), (2, 1, 33)])
    form.write_messages(graph.operations(), tmp_path / f"x{form.target}")
    again = MessageGraph.read(tmp_path / ("x.0.et" if form.name == "chakra" else f"x{form.target}"))
    assert again.operations() == graph.operations()


@of(formats.FORMATS)
def test_files_above_the_limit_are_refused_unread(form, tmp_path):
    file = file_of(form, tmp_path)
    with file.open("r+b") as stream:
        stream.truncate(form.limit + 1)
    read = formats.read_messages if form.read_plan is None else formats.read_plan
    with pytest.raises(fl.SpecError, match=f"{form.limit + 1} bytes or more; .* at most {form.limit}"):
        read(file, *([GROUND] if form.read_plan else []))


@of(formats.FORMATS)
def test_the_documents_name_every_format(form):
    page = (DOCS / "collective.md").read_text(encoding="utf-8")
    assert form.endings[0] in page
    assert re.search(form.title.split()[-1].replace("form", "GOAL").replace("text", "GOAL"), page)


def test_old_names_of_writers_say_the_new_ones():
    plan = fl.collectives.plan(fl.Torus(3), "all-gather")
    with pytest.warns(FutureWarning, match=r"to_msccl is now flitloom\.collectives\.msccl\.msccl_text"):
        assert plan.to_msccl().startswith("<algo")
    with pytest.warns(FutureWarning, match=r"flitloom\.collectives\.mscclpp\.mscclpp_text"):
        assert '"allgather"' in plan.to_mscclpp()
    with pytest.warns(FutureWarning, match=r"flitloom\.collectives\.goal\.goal_text"):
        assert "send 64b" in plan.to_goal(64)
    with pytest.warns(FutureWarning, match=r"flitloom\.collectives\.chakra\.chakra_files"):
        assert len(plan.to_chakra(64, as_collective=True)) == 3


# A format that exists in tests only: what a file of its own holds, and the line that lists it.


def read_rows(file, ground):
    rows = []
    for line, text in enumerate(read_text(file, limits.FOREIGN_BYTES).splitlines()[1:], 2):
        if not re.fullmatch(r"\d{1,6}( \d{1,3}){4}", text, re.ASCII):
            raise fl.SpecError(f"{file.name}: line {line}: write step, start, end, source and chunk")
        rows.append([int(word) for word in text.split()])
        if max(rows[-1][1:4]) >= needed(ground).nodes:
            raise fl.SpecError(f"{file.name}: line {line}: the network has no such node")
    steps = max((row[0] for row in rows), default=-1) + 1
    return plan_of_moves(needed(ground), "all-gather", 1, rows, steps=steps)


def check_rows(file, ground):
    try:
        plan = read_rows(file, ground)
    except fl.SpecError as error:
        return {"passed": False, "steps": 0, "problems": [str(error)]}
    return {"passed": True, "steps": plan.steps, "problems": []}


def write_rows(plan, file, how):
    del how
    write_lines(file, ["moves\n", *(" ".join(map(str, row)) + "\n" for row in plan.expanded().moves)])
    return ["every move is a line"]


def seed_rows():
    return "\n".join(["moves", *(" ".join(map(str, row)) for row in sample().expanded().moves), ""]).encode()


ROWS = Format(
    name="rows",
    title="rows of moves",
    endings=(".moves",),
    limit=limits.FOREIGN_BYTES,
    form="text",
    seed=seed_rows,
    sniff=lambda start: start.startswith(b"moves"),
    target=".moves",
    read_plan=read_rows,
    check_plan=check_rows,
    write_plan=write_rows,
)


@pytest.fixture
def rows(monkeypatch):
    monkeypatch.setattr(known, "FORMATS", (*known.FORMATS, ROWS))


@pytest.mark.usefixtures("rows")
def test_a_new_format_is_written_checked_read_and_told_apart(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    plan = fl.collectives.plan(fl.Torus(3, 2), "all-gather", latency=2)
    plan.save("plan.json")
    assert run(["convert", "plan.json", "x.moves"]) == 0
    told = capsys.readouterr().err
    assert "note: x.moves: every move is a line" in told
    assert "note: x.moves: the format cannot hold the latency of links (2 steps" in told
    assert run(["check", "x.moves", "--torus", "3x2"]) == 0
    assert "valid" in capsys.readouterr().out
    assert run(["convert", "x.moves", "again.json", "--torus", "3x2"]) == 0
    assert fl.collectives.read("again.json").moves == plan.expanded().moves
    assert formats.format_of(tmp_path / "x.moves") is ROWS
    assert run(["simulate", "x.moves", "--torus", "3x2"]) == 0
    assert "plan                     all-gather, 3x2 torus" in capsys.readouterr().out
    assert run(["simulate", "x.moves"]) == 2
    assert "x.moves: does not say what network it is for" in capsys.readouterr().err
    lines = (tmp_path / "x.moves").read_text().splitlines(keepends=True)
    (tmp_path / "x.moves").write_text("".join(lines[:-1]))
    assert run(["check", "x.moves", "--torus", "3x2"]) == 1
    assert "NOT VALID" in capsys.readouterr().out
    assert run(["convert", "plan.json", "x.rows"]) == 2
    assert "must end in .json or .xml or .goal or .bin or .et or .moves" in capsys.readouterr().err


@pytest.mark.usefixtures("rows")
def test_a_new_format_has_a_fuzzer(tmp_path, monkeypatch):
    fuzz = fuzz_formats.fuzz
    monkeypatch.setattr(fuzz, "READERS", fuzz_formats.readers_of(known.FORMATS))
    seeds = {"rows": ROWS.seed()}
    file = tmp_path / "case.moves"
    refused = 0
    for number in range(100):
        file.write_bytes(fuzz.case("rows", number, seeds))
        assert fuzz.complaint("rows", file) == ""
        refused += not check_rows(file, GROUND)["passed"]
    assert 50 < refused < 100
