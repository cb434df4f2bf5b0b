"""Inputs: what the first argument of a verb, or an option in its place, can be; a file each, and one list."""

from flitloom.commands.inputs.input import Input, Refusal, Use, names_of
from flitloom.commands.inputs.known import INPUTS, choose, refuse_others
from flitloom.commands.inputs.using import use

__all__ = ["INPUTS", "Input", "Refusal", "Use", "choose", "names_of", "refuse_others", "use"]
