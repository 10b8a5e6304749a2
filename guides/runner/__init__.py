"""Runs guides: a guide is a small program that writes messages in the natural way of its stack."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GUIDES = ROOT / "guides"
TARGET = ROOT / "target" / "guides"

# An exception with its trace says at one end or the other what it is.
FIRST, LAST = 5, 12


class Failure(Exception):
    """A step went wrong: what was expected, and what came."""

    def __init__(self, step: str, expected: str, came: str):
        super().__init__(f"{step}: expected {expected}; came {came}")
        self.step = step


def ending(text: str) -> str:
    """A program's output for the message of a failure, indented; of a long one the first lines and the last."""
    lines = text.rstrip().splitlines()
    if len(lines) > FIRST + LAST:
        lines = [*lines[:FIRST], "…", *lines[-LAST:]]
    return "".join(f"\n      | {line}" for line in lines) or " nothing"
