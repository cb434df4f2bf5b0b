"""MSCCL++ execution plans (JSON): read, replayed, checked and written."""

from flitloom.collectives.mscclpp.read import Plan, read_mscclpp
from flitloom.collectives.mscclpp.replay import Replay
from flitloom.collectives.mscclpp.write import mscclpp_text

__all__ = ["Plan", "Replay", "mscclpp_text", "read_mscclpp"]
