"""``flitloom demo`` answers its questions with the commands that it names, and draws what it says."""

import json
import shlex

import jsonschema
import pytest

from flitloom.commands import run
from flitloom.commands.actions import demo
from flitloom.spec.answer_schemas import answer_schema


@pytest.mark.long
def test_the_demo_answers_with_the_commands_that_it_names(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["demo", "--out", "shown", "--json"]) == 0
    answers = json.loads(capsys.readouterr().out)
    jsonschema.validate(answers, answer_schema("demo"))
    assert [answer["question"] for answer in answers] == [*demo.QUESTIONS, demo.LAST]
    for answer in answers[1:4]:
        assert run([*shlex.split(answer["command"])[1:], "--json"]) == 0
        again = json.loads(capsys.readouterr().out)
        for timed in (answer["answer"], again):
            timed.pop("seconds", None)
        assert again == answer["answer"]
    curve, plan, tables, placement, compared = (answer["answer"] for answer in answers)
    assert {row["saturated"] for row in curve} >= {False, True}
    assert all(row["saturated"] or row["rate"] <= row["bound"] for row in curve)
    assert all(answer["optimal"] for answer in (plan, tables, placement))
    assert not tables["deadlock"]
    # Cup-Stacking papers, the perfect shuffle on 16x16: whole packets.
    assert next(row["whole"] for row in compared if row["pattern"] == "shfl") == 528
    assert all(row["scheduled"] >= row["scheduled_bound"] for row in compared)
    pictures = [picture for answer in answers for picture in answer["pictures"]]
    assert len(pictures) == len(set(pictures)) == 11
    assert all((tmp_path / picture).stat().st_size > 10_000 for picture in pictures)


def test_a_question_that_cannot_be_answered_ends_the_demo(tmp_path, monkeypatch, capsys):
    wrong = {"Where?": ("route --torus 4x4 --fail node:99", "tables.png")}
    monkeypatch.setattr(demo, "QUESTIONS", wrong)
    assert run(["demo", "--out", str(tmp_path / "shown")]) == 2
    said = capsys.readouterr().err
    assert "node 99" in said or "node:99" in said
    assert "flitloom route --torus 4x4 --fail node:99" in said
    assert "ended with exit code 2" in said
