"""Tables of what came of it."""

from . import TARGET
from .servers import SERVERS
from .trial import Trial

STACKS = TARGET / "stacks.md"
MISSING = "–"


def trial_lines(trials: list[Trial]) -> list[str]:
    """Guide by server."""
    names = list(dict.fromkeys(trial.guide.name for trial in trials))
    rows = [["guide", *SERVERS]]
    for name in names:
        of_guide = {trial.server: trial for trial in trials if trial.guide.name == name}
        rows.append([name, *(_cell(of_guide.get(server)) for server in SERVERS)])
    return columns(rows)


def _cell(trial: Trial | None) -> str:
    if trial is None:
        return MISSING
    return f"{'FAILED' if trial.failures else 'ok'}  {trial.seconds:.1f} s"


def stack_rows(trials: list[Trial]) -> list[list[str]]:
    """Natural code by server, in the order of the guides' own words."""
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for trial in trials:
        for one, verdict in trial.verdicts:
            cells.setdefault((one.stack or trial.guide.name, one.name), {})[trial.server] = verdict.words
    # Variants of one stack stand together, also those of one server only.
    stacks = list(dict.fromkeys(stack for stack, _ in cells))
    ordered = sorted(cells.items(), key=lambda item: stacks.index(item[0][0]))
    return [["stack", "natural code", *SERVERS],
            *([stack, code, *(by_server.get(server, MISSING) for server in SERVERS)] for (stack, code), by_server in ordered)]


def columns(rows: list[list[str]], widest: int = 44) -> list[str]:
    """Lines for a terminal."""
    cut = [[cell if len(cell) <= widest else f"{cell[:widest - 1]}…" for cell in row] for row in rows]
    widths = [max(len(row[index]) for row in cut) for index in range(len(cut[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in cut]


def write_stacks(rows: list[list[str]]) -> None:
    """The same as Markdown."""
    STACKS.parent.mkdir(parents=True, exist_ok=True)
    escaped = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    head, *body = [f"| {' | '.join(row)} |" for row in escaped]
    STACKS.write_text("\n".join([head, "|" + "---|" * len(rows[0]), *body, ""]))
