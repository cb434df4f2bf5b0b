"""What is printed of a bound says what it does not know."""

from itertools import combinations

from flitloom.commands import run

#: Two full meshes of four and one cable between them.
BARBELL = [f"a{one},a{other}\nb{one},b{other}" for one, other in combinations(range(4), 2)] + ["a0,b0"]


def test_a_bound_of_sums_that_looks_for_no_bottleneck_says_so(tmp_path, capsys):
    file = tmp_path / "barbell.csv"
    file.write_text("\n".join(BARBELL) + "\n")
    assert run(["collective", "all-reduce", "--graph", str(file), "--chunks", "8"]) == 0
    said = capsys.readouterr().out
    # 64 chunks have to cross the cable after the first have come to its end: the plan is optimal.
    assert "steps       66, at most" in said
    assert "% above the optimum: the bound counts all links together and looks for no bottleneck\n" in said
    assert run(["collective", "all-gather", "--graph", str(file), "--chunks", "8"]) == 0
    assert "bottleneck" not in capsys.readouterr().out
