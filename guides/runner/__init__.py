"""Runs guides: a guide is a small program that writes messages in the natural way of its stack."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GUIDES = ROOT / "guides"
TARGET = ROOT / "target" / "guides"


class Failure(Exception):
    """A step went wrong: what was expected, and what came."""

    def __init__(self, step: str, expected: str, came: str):
        super().__init__(f"{step}: expected {expected}; came {came}")
        self.step = step


def ending(text: str, lines: int = 15) -> str:
    """The last lines of a program's output, indented, for the message of a failure."""
    kept = text.rstrip().splitlines()[-lines:]
    return "".join(f"\n      | {line}" for line in kept) or " nothing"
