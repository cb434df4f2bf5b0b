"""MSCCL XML: algorithms of collective operations as GPUs run them - read, replayed, checked and written."""

from flitloom.collectives.msccl.check import check_msccl, msccl_plan
from flitloom.collectives.msccl.read import Algorithm, read_msccl
from flitloom.collectives.msccl.replay import Replay
from flitloom.collectives.msccl.write import msccl_text, write_msccl

__all__ = ["Algorithm", "Replay", "check_msccl", "msccl_plan", "msccl_text", "read_msccl", "write_msccl"]
