"""Run the catalogue of known hazards, racy and guarded, on one or several torches."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import rich_click as click

from fxrace.catalog.hazards import script_of
from fxrace.commands import _catalogue, _options
from fxrace.commands._catalogue import Torch
from fxrace.core.repro_judge import judge, row_of, run_of
from fxrace.errors import ExitCode, InterpreterUnusable, LaunchFailed, UsageError
from fxrace.launch import bundled
from fxrace.launch import folder as folders
from fxrace.launch.script import run_script
from fxrace.launch.script_forks import ScriptForks
from fxrace.launch.stopping import Level, Stopping
from fxrace.records import wire
from fxrace.records.hazard import Catalogue, Hazard
from fxrace.records.outcome import Verdict
from fxrace.records.repro import Judgement, ReproDocument, ReproRow, ScriptEnd, ScriptRun, Twin
from fxrace.render.view import repro as view

BOTH = "both"
CPU = "cpu"
#: From so many runs on, importing torch once and forking is faster than a new interpreter for each.
WORTH_FORKING = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """Runs of one twin, one after the other."""

    hazard: Hazard
    torch: Torch
    twin: Twin
    times: int


@click.command(cls=click.RichCommand)
@click.argument("slugs", nargs=-1)
@click.option("--list", "listing", is_flag=True, help="List the hazards and run nothing.")
@click.option("--print", "printing", is_flag=True, help="Print the script of one SLUG.")
@click.option(
    "--twin", "twins", type=click.Choice([*(twin.value for twin in Twin), BOTH]), default=BOTH,
    show_default=True, help="The program with the hazard, the one with the remedy, or both.",
)  # fmt: skip
@click.option(
    "--repeat", type=click.IntRange(1), default=1, show_default=True, help="Runs of each twin."
)
@click.option(
    "--python", "pythons", multiple=True, metavar="PATH",
    help="Interpreter to run under; several make a matrix. It needs torch only. Default: this one.",
)  # fmt: skip
@click.option(
    "--jobs", type=click.IntRange(1), default=None, metavar="N",
    help="Scripts side by side. Default: one per processor.",
)  # fmt: skip
@click.option(
    "--fresh",
    is_flag=True,
    help="A new interpreter for every run, also where forks of one with torch would do.",
)
@click.option(
    "-o", "--output", type=click.Path(file_okay=False, path_type=Path), default=None,
    metavar="DIR", help="Also write repro.json and repro.md there.",
)  # fmt: skip
@_options.as_json
def command(
    *, slugs: tuple[str, ...], listing: bool, printing: bool, twins: str, repeat: int,
    pythons: tuple[str, ...], jobs: int | None, fresh: bool, output: Path | None, as_json: bool,
) -> ExitCode:  # fmt: skip
    """Run the hazards SLUGS (patterns such as 'fx-*' are taken; none means all) and judge each
    against what its script declares.

    Exits 0 when all are as declared, 1 when one that this torch should have does not show, 3 when
    a script is broken or none could say anything.
    """
    known = _catalogue.catalogue()
    hazards = _catalogue.chosen(known, slugs)
    if printing:
        return _print(hazards, plain=not (as_json or listing))
    rows: tuple[ReproRow, ...] = ()
    interrupted = False
    if not listing:
        tasks = [
            task
            for hazard, torch in product(hazards, _catalogue.torches(pythons))
            for twin in Twin
            if twins in (twin.value, BOTH)
            for task in _tasks(hazard, torch, twin, repeat)
        ]
        with Stopping() as stopping, ExitStack() as stack:
            forks = {} if fresh else _forks(tasks, stack)
            rows = tuple(_rows(tasks, jobs or os.cpu_count() or 1, stopping, forks))
            interrupted = stopping.level is not Level.RUN
    document = _document(known, hazards, rows, interrupted=interrupted)
    if output is not None:
        _write(output, document)
    click.echo(wire.pretty(document) if as_json else view.text(document))
    return ExitCode.PASS if listing else exit_code(document)


def exit_code(document: ReproDocument) -> ExitCode:
    """FINDINGS where the catalogue is wrong about a torch, INCONCLUSIVE where nothing was shown."""
    judgements = {row.judgement for row in document.results}
    if document.interrupted:
        return ExitCode.INTERRUPTED
    if Judgement.NOT_REPRODUCED in judgements:
        return ExitCode.FINDINGS
    shown = any(
        row.judgement is Judgement.REPRODUCED or row.racy.verdict is Verdict.CLEAN
        for row in document.results
    )
    if Judgement.BROKEN in judgements or not shown:
        return ExitCode.INCONCLUSIVE
    return ExitCode.PASS


def _print(hazards: Sequence[Hazard], *, plain: bool) -> ExitCode:
    if len(hazards) != 1 or not plain:
        raise UsageError("--print shows one script as it is", remedy="fxrace repro SLUG --print")
    script = script_of(bundled.root(), hazards[0].slug)
    click.echo(script.read_text(encoding="utf-8"), nl=False)
    return ExitCode.PASS


def _tasks(hazard: Hazard, torch: Torch, twin: Twin, repeat: int) -> list[Task]:
    """Runs on a CPU can be spread; those of a GPU script share the GPU, or lack it together."""
    if hazard.device == CPU:
        return [Task(hazard=hazard, torch=torch, twin=twin, times=1)] * repeat
    return [Task(hazard=hazard, torch=torch, twin=twin, times=repeat)]


def _forks(tasks: Sequence[Task], stack: ExitStack) -> dict[Path, ScriptForks]:
    """By interpreter, where many scripts will run that a fork can run (no fork survives CUDA)."""
    runs = Counter(task.torch.python for task in tasks if task.hazard.device == CPU)
    found = {}
    for python in (python for python, count in runs.items() if count >= WORTH_FORKING):
        with suppress(InterpreterUnusable):  # then each run says what is wrong
            forks = stack.enter_context(ScriptForks(python))
            if forks.usable:
                found[python] = forks
    return found


def _rows(
    tasks: Sequence[Task], jobs: int, stopping: Stopping, forks: Mapping[Path, ScriptForks]
) -> Iterator[ReproRow]:
    """Judge each hazard on each torch as soon as its last run has ended, told on stderr."""
    pairs: dict[tuple[str, Path], list[Task]] = {}
    for task in tasks:
        pairs.setdefault((task.hazard.slug, task.torch.python), []).append(task)
    rows: dict[tuple[str, Path], ReproRow] = {}
    with ThreadPoolExecutor(jobs) as pool:
        runs = {
            pool.submit(_run, task, stopping, forks.get(task.torch.python)): task for task in tasks
        }
        ended: dict[tuple[str, Path], list[tuple[Twin, Sequence[ScriptRun]]]] = {}
        for future in as_completed(runs):
            task = runs[future]
            key = (task.hazard.slug, task.torch.python)
            ended.setdefault(key, []).append((task.twin, future.result()))
            if len(ended[key]) == len(pairs[key]) and all(found for _, found in ended[key]):
                rows[key] = _judged(task, [(t, run) for t, found in ended[key] for run in found])
                click.echo(view.progress(rows[key], len(rows), len(pairs)), err=True)
    return (rows[key] for key in pairs if key in rows)


def _run(task: Task, stopping: Stopping, forks: ScriptForks | None) -> Sequence[ScriptRun]:
    """Its runs, none when not all were begun or one was given up.

    What this machine lacks it lacks the next time too, so a twin that was SKIPPED is not repeated.
    """
    found: list[ScriptRun] = []
    for _ in range(task.times):
        if stopping.level is not Level.RUN:
            return ()
        end = _ended(task, stopping, forks)
        if end.status is None and _killed(stopping):
            return ()
        found.append(run_of(end, timeout_s=task.hazard.timeout_s))
        if found[-1].verdict is Verdict.SKIPPED:
            break
    return found


def _ended(task: Task, stopping: Stopping, forks: ScriptForks | None) -> ScriptEnd:
    script = script_of(bundled.root(), task.hazard.slug)
    flags = ("--guarded",) if task.twin is Twin.GUARDED else ()
    limit_s = task.hazard.timeout_s
    if forks is not None and task.hazard.device == CPU:
        with suppress(LaunchFailed):  # the process to fork is gone
            return forks.run(script, *flags, timeout_s=limit_s, give_up=lambda: _killed(stopping))
    return run_script(
        task.torch.python, script, *flags, timeout_s=limit_s, give_up=lambda: _killed(stopping)
    )


def _killed(stopping: Stopping) -> bool:
    return stopping.level is Level.KILL


def _judged(task: Task, runs: Sequence[tuple[Twin, ScriptRun]]) -> ReproRow:
    hazard, torch = task.hazard, task.torch
    racy = row_of([run for twin, run in runs if twin is Twin.RACY], wanted=hazard.racy)
    guarded = row_of([run for twin, run in runs if twin is Twin.GUARDED], wanted=Verdict.CLEAN)
    judgement, reason = judge(hazard, torch.version, racy, guarded)
    return ReproRow(
        slug=hazard.slug,
        python=str(torch.python),
        torch=torch.version,
        racy=racy,
        guarded=guarded,
        judgement=judgement,
        reason=reason,
    )


def _document(
    known: Catalogue, hazards: Sequence[Hazard], rows: Sequence[ReproRow], *, interrupted: bool
) -> ReproDocument:
    return ReproDocument(
        schema="fxrace.repro",
        schema_version=1,
        results=tuple(rows),
        hazards=tuple(hazards),
        problems={problem.slug: problem.reason for problem in known.problems},
        interrupted=interrupted,
    )


def _write(output: Path, document: ReproDocument) -> None:
    with folders.writable(output):
        output.mkdir(parents=True, exist_ok=True)
        (output / "repro.json").write_text(wire.pretty(document) + "\n")
        (output / "repro.md").write_text(view.markdown(document))
