"""`guides/run`."""

import argparse
import concurrent.futures
import shutil
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from . import ROOT, report, servers
from .dispatcher import program
from .guide import LOGS, Guide, guides
from .trial import Trial, attempt

# Most of a trial is waiting for a message that is due in 5 s.
TRIALS_AT_ONCE = 3


def main() -> int:
    known = guides()
    arguments = _arguments(known)
    if arguments.list:
        for guide in known.values():
            print(f"{guide.name:<16} {', '.join(guide.servers())}")
        return 0
    chosen = [known[name] for name in arguments.names or known]
    wanted = [(guide, server) for guide in chosen for server in guide.servers() if server in arguments.on]
    program()
    subprocess.run([ROOT / "tests/install"], check=True)
    # So that servers are stopped and folders removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with ExitStack() as ending:
        try:
            trials = _trials(chosen, wanted, ending)
        except RuntimeError as why:
            raise SystemExit(f"guides/run: {why}") from why
        except KeyboardInterrupt:
            return 130
    return _tell(trials)


def _arguments(known: dict[str, Guide]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="guides/run", description="Runs the programs of guides/ against real servers and a real dispatcher.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a folder of guides/; without one all are run")
    parser.add_argument("--on", metavar="SERVERS", default=",".join(servers.SERVERS),
                        help="of postgres, mariadb and mysql, with commas between them (default: all three)")
    parser.add_argument("--list", action="store_true", help="print the guides and the servers that they are for")
    arguments = parser.parse_args()
    arguments.on = arguments.on.split(",")
    for word, words in [(name, known) for name in arguments.names] + [(name, servers.SERVERS) for name in arguments.on]:
        if word not in words:
            parser.error(f"{word} is none of {', '.join(words)}")
    return arguments


def _trials(chosen: list[Guide], wanted: list[tuple[Guide, str]], ending: ExitStack) -> list[Trial]:
    folder = servers.folder()
    ending.callback(shutil.rmtree, folder, ignore_errors=True)
    pool = concurrent.futures.ThreadPoolExecutor(TRIALS_AT_ONCE)
    ending.callback(pool.shutdown, cancel_futures=True)
    # Servers start while packages are installed.
    redis = pool.submit(_started, servers.Redis, folder, ending)
    started = {kind: pool.submit(_started, servers.SERVERS[kind].start, folder, ending)
               for kind in dict.fromkeys(server for _, server in wanted)}
    failed = _install(chosen)

    lease = redis.result().url
    running = {}
    for guide, kind in wanted:
        if guide.name in failed:
            trial = Trial(guide, kind)
            trial.fail(failed[guide.name])
            running[guide.name, kind] = trial
        else:
            running[guide.name, kind] = pool.submit(attempt, guide, started[kind].result(), lease, folder)
    trials = []
    for trial in running.values():
        trial = trial if isinstance(trial, Trial) else trial.result()
        print(f"{trial.guide.name} on {trial.server}: {'FAILED' if trial.failures else 'ok'}, {trial.seconds:.1f} s", flush=True)
        for failure in trial.failures:
            print(f"    {trial.guide.name} on {trial.server}: {failure}", flush=True)
        trials.append(trial)
    return trials


def _started(start, folder: Path, ending: ExitStack):
    server = start(folder)
    ending.callback(server.stop)
    return server


def _install(chosen: list[Guide]) -> dict[str, Exception]:
    """One after the other: they share package managers. The failures by name."""
    failed = {}
    for guide in chosen:
        if not guide.has("install"):
            continue
        print(f"{guide.name}: installing", end="", flush=True)
        try:
            print(f" took {guide.install():.1f} s", flush=True)
        except Exception as why:  # noqa: BLE001
            print(" FAILED", flush=True)
            failed[guide.name] = why
    return failed


def _tell(trials: list[Trial]) -> int:
    rows = report.stack_rows(trials)
    report.write_stacks(rows)
    if len(rows) > 1:
        print("", *report.columns(rows), sep="\n")
        print(f"\nThe same with all words: {report.STACKS.relative_to(ROOT)}")
    print("", *report.trial_lines(trials), sep="\n")
    failed = sum(bool(trial.failures) for trial in trials)
    if failed:
        print(f"\nWhat the scripts and the dispatchers said: {LOGS.relative_to(ROOT)}")
    print(f"\n{len(trials) - failed} passed, {failed} failed")
    return 1 if failed else 0
