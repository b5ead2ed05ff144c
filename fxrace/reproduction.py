"""The corridor of ``fxrace repro``: hazards x torches x twins -> runs -> judged rows -> document.

Scripts of CPU hazards run in forks of one interpreter with torch where there are many of them;
GPU scripts, and all under ``fresh``, get an interpreter each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from fxrace.catalog.hazards import script_of
from fxrace.core.repro_judge import judge, row_of, run_of
from fxrace.errors import ExitCode, InterpreterUnusable, LaunchFailed
from fxrace.launch import bundled
from fxrace.launch.script import run_script
from fxrace.launch.script_forks import ScriptForks
from fxrace.launch.stopping import Level, Stopping
from fxrace.records.hazard import Catalogue, Hazard
from fxrace.records.repro import (
    Judgement,
    ReproDocument,
    ReproRow,
    ScriptEnd,
    ScriptRun,
    Torch,
    Twin,
)  # fmt: skip
from fxrace.records.verdict import Verdict

CPU = "cpu"
#: From so many runs on, importing torch once and forking is faster than a new interpreter for each.
WORTH_FORKING = 8
#: Told each row as its last run ends, how many rows there are now, and how many there will be.
Told = Callable[[ReproRow, int, int], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What is run: these twins of these hazards on these torches, each ``repeat`` times."""

    hazards: Sequence[Hazard]
    torches: Sequence[Torch]
    twins: Sequence[Twin]
    repeat: int = 1
    jobs: int = 1
    fresh: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """Runs of one twin, one after the other."""

    hazard: Hazard
    torch: Torch
    twin: Twin
    times: int


def run(known: Catalogue, plan: Plan, *, told: Told) -> ReproDocument:
    """Run and judge them. Ctrl-C once ends what was not begun, twice what runs."""
    tasks = [
        task
        for hazard, torch in product(plan.hazards, plan.torches)
        for twin in plan.twins
        for task in _tasks(hazard, torch, twin, plan.repeat)
    ]
    with Stopping() as stopping, ExitStack() as stack:
        forks = {} if plan.fresh else _forks(tasks, stack)
        rows = tuple(_rows(tasks, plan.jobs, stopping, forks, told))
        interrupted = stopping.level is not Level.RUN
    return document_of(known, plan.hazards, rows, interrupted=interrupted)


def one(hazard: Hazard, torch: Torch, forks: ScriptForks | None = None) -> ReproRow:
    """Both twins of one hazard, once."""
    stopping = Stopping()
    tasks = [Task(hazard=hazard, torch=torch, twin=twin, times=1) for twin in Twin]
    runs = [(task.twin, run) for task in tasks for run in _run(task, stopping, forks)]
    return _judged(tasks[0], runs)


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


def document_of(
    known: Catalogue, hazards: Sequence[Hazard], rows: Sequence[ReproRow] = (), *,
    interrupted: bool = False,
) -> ReproDocument:  # fmt: skip
    """Rows as a document; without any it is the list of the hazards."""
    return ReproDocument(
        schema="fxrace.repro",
        schema_version=1,
        results=tuple(rows),
        hazards=tuple(hazards),
        problems={problem.slug: problem.reason for problem in known.problems},
        interrupted=interrupted,
    )


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
    tasks: Sequence[Task], jobs: int, stopping: Stopping, forks: Mapping[Path, ScriptForks],
    told: Told,
) -> Iterator[ReproRow]:  # fmt: skip
    """Judge each hazard on each torch as soon as its last run has ended."""
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
                told(rows[key], len(rows), len(pairs))
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
