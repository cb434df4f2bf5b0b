"""Traces of applications: sends, receives and computations per rank, in GOAL (text and binary) and Chakra."""

from flitloom.traces.chakra import read_chakra, write_chakra
from flitloom.traces.goal import goal_binary, goal_text, parse_goal, parse_goal_binary
from flitloom.traces.graph import MessageGraph
from flitloom.traces.operations import Operation, Ranks

__all__ = [
    "MessageGraph",
    "Operation",
    "Ranks",
    "goal_binary",
    "goal_text",
    "parse_goal",
    "parse_goal_binary",
    "read_chakra",
    "write_chakra",
]
