"""The tests of the guards can fail: each line that protects, taken away, turns one of them red.

A mutant is one file, one line of it, what stands there instead, and the schedule that must notice.
``module`` is where that schedule is; guards are those it runs with.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import pytest
import torch

from tests.unit.guards.forked import outcome
from tests.unit.guards.test_modes import RED as MODES
from tests.unit.guards.test_other_guards import CURED, GUARDED
from tests.unit.guards.test_other_guards import GOOD as GOOD_ALREADY
from tests.unit.guards.test_restoring import CASES
from tests.unit.guards.test_tracing import GOOD, OWNER, RED

NOW = tuple(int(word) for word in torch.__version__.split(".")[:2])


@dataclass(frozen=True, kw_only=True, slots=True)
class Mutant:
    name: str
    file: str
    line: str
    other: str
    noticed_by: str
    guards: tuple[str, ...] = ("isolated",)
    module: str = "scenarios"
    torch: tuple[tuple[int, int], tuple[int, int]] = ((2, 0), (99, 0))


LATE, EARLY = ((2, 12), (99, 0)), ((2, 0), (2, 14))
MUTANTS = (
    Mutant(
        name="every thread sees the flag", file="_thread_state",
        line="return self._mine.value or not self.live", other="return True",
        noticed_by="flag_beside_make_fx", torch=EARLY,
    ),
    Mutant(
        name="no thread sees the flag", file="_thread_state",
        line="return self._mine.value or not self.live", other="return False",
        noticed_by="same_thread_nesting", torch=EARLY,
    ),
    Mutant(
        name="torch's own flag is not counted", file="_thread_state",
        line="self._space[self._name] = self._raised > 0",
        other="self._space[self._name] = value",
        noticed_by="nested_call_after_anothers_trace", torch=EARLY,
    ),
    Mutant(
        name="modes keep torch's one flag", file="_tracing",
        line="                    attach_modes,\n", other="",
        noticed_by="modes_that_overlap", module="mode_scenarios",
    ),
    Mutant(
        name="a mode of any thread is everybody's", file="_modes",
        line="return self.flags[ANY if infra else OUTER].here()", other="return True",
        noticed_by="mode_elsewhere", module="mode_scenarios",
    ),
    Mutant(
        name="an operator lowers everybody's flag", file="_fx",
        line="        lambda: _attach_environment(flag),\n", other="",
        noticed_by="nested_call_beside_a_subgraph", torch=EARLY,
    ),
    Mutant(
        name="wrappers for every thread", file="_patches",
        line="class _Wrappers(threading.local):", other="class _Wrappers:",
        noticed_by="eager_module_beside_trace",
    ),
    Mutant(
        name="the methods are put back by the first to leave", file="_patches",
        line="if not self._count and self._undo is not None:", other="if self._undo is not None:",
        noticed_by="second_trace_after_the_first",
    ),
    Mutant(
        name="one patcher for all", file="_fx",
        line="class _Current(threading.local):", other="class _Current:",
        noticed_by="compile_beside_trace",
    ),
    Mutant(
        name="names are unwrapped by the first to leave", file="_patches",
        line="            if entry.count:\n                return\n", other="",
        noticed_by="autowrapped",
    ),
    Mutant(
        name="wrapped names are not joined", file="_patches",
        line="for name in ground.shared_in(thing):", other="for name in ():",
        noticed_by="autowrapped",
    ),
    Mutant(
        name="one make_fx tracer for all", file="_make_fx",
        line="class _Mine(threading.local):", other="class _Mine:",
        noticed_by="tracer_elsewhere",
    ),
    Mutant(
        name="one node metadata for all", file="_meta",
        line="class _Mine(threading.local):", other="class _Mine:",
        noticed_by="annotations", torch=((2, 9), (99, 0)),
    ),
    Mutant(
        name="is_compiling is everybody's", file="_compiling",
        line='read("is_compiling", _is_compiling, COMPILING)',
        other="pass", noticed_by="is_compiling_elsewhere", torch=((2, 13), (99, 0)),
    ),
    Mutant(
        name="the owner does not lock traces", file="one_owner",
        line='        owned(Tracer, "trace"),\n', other="",
        noticed_by="traces_at_once", guards=("one_owner",), module="owner_scenarios",
    ),
    Mutant(
        name="the owner does not lock compiles", file="one_owner",
        line='        lambda: layered(convert, "compile_lock", lock),\n',
        # The owner has a lock of its own, and ``list`` is what takes it away: nothing.
        other='        lambda: lock(Layer(inner=__import__("threading").RLock())) and list,\n',
        noticed_by="traces_at_once", guards=("one_owner",), module="owner_scenarios",
    ),
    Mutant(
        name="the owner does not lock make_fx", file="one_owner",
        line='        owned(_MakefxTracer, "trace"),\n', other="",
        noticed_by="make_fx_then_export", guards=("one_owner",), module="owner_scenarios",
    ),
    Mutant(
        name="the owner does not lock loads", file="one_owner",
        line='        owned(serialize.GraphModuleDeserializer, "deserialize"),\n', other="",
        noticed_by="loads_at_once", guards=("one_owner",), module="owner_scenarios",
    ),
    Mutant(
        name="the owner does not lock saves", file="one_owner",
        line='        owned(serialize, "serialize_torch_artifact"),\n', other="",
        noticed_by="saves_at_once", guards=("one_owner",), module="owner_scenarios",
    ),
    Mutant(
        name="the owner takes no second look", file="one_owner",
        line="        attach_second_look,\n", other="",
        noticed_by="duplicate_compiles", guards=("one_owner",), module="more_scenarios",
    ),
    Mutant(
        name="the second look goes with the first guard", file="_contract",
        line="if not wanted and detach is not None:", other="if detach is not None:",
        noticed_by="second_look_shared", guards=(), module="restoring",
    ),
    Mutant(
        name="nobody is let in", file="_owner",
        line="if stranger and watch.lets_in(frame):", other="if False:",
        noticed_by="helper_thread_in_compile", guards=("one_owner",), module="owner_scenarios",
    ),
    Mutant(
        name="no second look", file="_second_look",
        line="if entry.guard_manager.check(values):", other="if False:",
        noticed_by="duplicate_compiles", guards=("compile_once",), module="more_scenarios",
    ),
    Mutant(
        name="the used entry counts for the limit", file="_second_look",
        line="guards.id_matched_objs = {_COPY: weakref.ref(_NOBODY)}",
        other="guards.id_matched_objs = {}",
        noticed_by="copies_count_for_no_limit", guards=("compile_once",), module="more_scenarios",
    ),
    Mutant(
        name="threads start without", file="inherit_config",
        line="values = config.taken() if layer.live else {}\n        if values and not self.ident:",
        other="values = config.taken() if layer.live else {}\n        if False:",
        noticed_by="config_in_threads", guards=("inherit_config",), module="more_scenarios",
        torch=LATE,
    ),
    Mutant(
        name="device threads go without", file="inherit_config",
        line="with config.applied(config.taken(context.get)):", other="if True:",
        noticed_by="config_in_threads", guards=("inherit_config",), module="more_scenarios",
        torch=LATE,
    ),
    Mutant(
        name="draws come from the process", file="_random",
        line="if torch.Tag.nondeterministic_seeded not in func.tags:", other="if True:",
        noticed_by="random_masks_nonreentrant", guards=("private_rng",), module="more_scenarios",
        torch=LATE,
    ),
    Mutant(
        name="checkpoint still sets the stream back", file="private_rng",
        line="return Region(function, seed_from()), {**options, PRESERVE: False}",
        other="return Region(function, seed_from()), options",
        noticed_by="random_stream_of_others", guards=("private_rng",), module="more_scenarios",
        torch=LATE,
    ),
    Mutant(
        name="the engine is not kept at home", file="no_circle",
        line="if layer.live and convert.compile_lock._is_owned():", other="if False:",
        noticed_by="engine_under_the_lock", guards=("no_circle",), module="more_scenarios",
    ),
    Mutant(
        name="compiles are not refused", file="freeze",
        line='        lambda: layered(convert, "_compile", _no_compile),\n', other="",
        noticed_by="compiles_after_warm_up", guards=(), module="more_scenarios",
    ),
    Mutant(
        name="lazy backwards are not refused", file="freeze",
        line='if layer.live and graph_name == "backward":', other="if False:",
        noticed_by="compiles_after_warm_up", guards=(), module="more_scenarios",
    ),
    Mutant(
        name="a reader keeps its share", file="_gate",
        line="share = self._readers.pop(me, 0)", other="share = 0",
        noticed_by="readers_that_come_to_trace", guards=("readers_writer",),
        module="reader_scenarios",
    ),
    Mutant(
        name="writers do not wait for readers", file="_gate",
        line="self._wait(lambda: not self._writer and not self._readers, \"trace\")",
        other="self._wait(lambda: not self._writer, \"trace\")",
        noticed_by="eager_module_that_says_it_runs", guards=("readers_writer",),
        module="reader_scenarios",
    ),
    Mutant(
        name="a running trace loses what it stands on", file="_tracing",
        line="self._inside.when_empty(self._take_off)", other="self._take_off()",
        noticed_by="with_threads_tracing", guards=(), module="restoring",
    ),
    Mutant(
        name="the first handle takes it all away", file="_registry",
        line="        if held.count:\n            return\n        del _held[name]",
        other="        del _held[name]",
        noticed_by="counted", guards=(), module="restoring",
    ),
    Mutant(
        name="code is not given back", file="_swap",
        line="                function.__code__ = before\n", other="                pass\n",
        noticed_by="each_alone", guards=(), module="restoring",
    ),
    Mutant(
        name="a layer below is forgotten", file="_swap",
        line="layers[place + 1].inner = layer.inner", other="pass",
        noticed_by="any_order", guards=(), module="restoring",
    ),
)  # fmt: skip
HERE = [one for one in MUTANTS if one.torch[0] <= NOW < one.torch[1]]


def survives(mutant: Mutant) -> bool:
    found = outcome(
        mutant.noticed_by, mutant.guards, (mutant.file, mutant.line, mutant.other), mutant.module
    )
    if found:
        print(f"{mutant.name}: {found[0][:160]}", file=sys.stderr)
    return not found


@pytest.mark.parametrize("mutant", HERE, ids=lambda one: one.name.replace(" ", "-"))
def test_a_mutant_is_noticed(mutant: Mutant) -> None:
    assert not survives(mutant)


def test_what_notices_is_a_test_of_its_own() -> None:
    """Each of these schedules is green without the mutant: in the other modules here."""
    noticing = {one.noticed_by for one in MUTANTS}
    assert noticing <= {*RED, *GOOD, *CURED, *GOOD_ALREADY, *GUARDED, *MODES, *CASES, *OWNER}
