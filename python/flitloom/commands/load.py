"""``flitloom load``: where a network saturates, and how it behaves before and beyond."""

from __future__ import annotations

import typer

from flitloom.commands import load_bound, load_curve, load_responses

app = typer.Typer(
    help="Where a network saturates, and how it behaves below and beyond: curves and responses.\n\n"
    "Example: flitloom load curve --torus 8x8 --pattern rand --rates 0.1:0.5:0.1",
    no_args_is_help=True,
)
app.command("curve")(load_curve.curve)
app.command("saturation")(load_curve.saturation)
app.command("steady")(load_curve.steady)
app.command("ramp")(load_responses.ramp)
app.command("step")(load_responses.step)
app.command("impulse")(load_responses.impulse)
app.command("burst")(load_responses.burst)
app.command("bound")(load_bound.command)
