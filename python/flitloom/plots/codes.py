"""Codes of the link-time record besides 1 + slice."""

IDLE, BLOCKED = 0, 255
