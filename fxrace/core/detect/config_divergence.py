"""A thread compiled without a setting that another thread had made, or under one not meant for it.

From torch 2.12 on a setting made in one thread is not seen by the others, autograd's device threads
included: the same function is compiled under other rules than its author set. T3, because nothing
need come of it; T1 where the record shows what did: a compile that was refused under the smaller
limit, in a thread that does not see the larger one. Before 2.12 one value serves all threads, and
a thread that compiles inside another thread's ``config.patch`` block does so under its setting.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from fxrace.core.compiles import Refusal, refusals
from fxrace.core.detect import Detector
from fxrace.core.evidence import Evidence
from fxrace.core.fingerprint import fingerprint
from fxrace.core.frames import frames_of
from fxrace.records.event import Event
from fxrace.records.finding import Finding, Side, Tier, Value

PER_THREAD, SHARED = "dynamo.config_of_context", "dynamo.config"
_LIMITS = ("recompile_limit", "cache_size_limit")


def find(evidence: Evidence) -> tuple[Finding, ...]:
    """One finding per set of threads' settings that differ, and one per refusal that came of it."""
    events = list(evidence.trace.of("config"))
    groups: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        groups[_state(event)].append(event)
    diverged = [_finding(state, group) for state, group in sorted(groups.items())]
    refused = [
        _refused(behind[0], refusal)
        for refusal in refusals(evidence.trace)
        if (behind := list(_behind(refusal, events)))
    ]
    return (*refused, *diverged)


def unseen_limit(refusal: Refusal, events: list[Event]) -> bool:
    """True when the thread was refused under a limit that another thread had raised."""
    return next(_behind(refusal, events), None) is not None


def _behind(refusal: Refusal, events: list[Event]) -> Iterator[Event]:
    for event in events:
        made, seen = event.data["set"], event.data["seen"]
        limit = event.data["setting"].rpartition(".")[2] in _LIMITS
        wanted = int(made["value"]) if limit and made["value"].isdigit() else 0
        # As many entries as the limit that was set would have been refused there, too.
        if refusal.entries < wanted and seen["thread"] in refusal.threads:
            yield event


def _state(event: Event) -> str:
    return SHARED if event.data["set"]["value"] == event.data["seen"]["value"] else PER_THREAD


def _finding(state: str, events: list[Event]) -> Finding:
    settings = sorted({str(event.data["setting"]) for event in events})
    how = "without settings of another" if state == PER_THREAD else "under another's settings"
    return Finding(
        fingerprint=fingerprint(Tier.RACE, state=state, key=("config", *settings)),
        title=f"a thread compiles {how}: {', '.join(settings[:3])}",
        tier=Tier.RACE,
        state=state,
        hazard=None,
        sides=_sides(events[0]),
        symptoms=tuple(dict.fromkeys(_symptom(event) for event in events)),
        value=_value(events[0]),
    )


def _refused(event: Event, refusal: Refusal) -> Finding:
    return Finding(
        fingerprint=fingerprint(
            Tier.SILENT_WRONG, state=PER_THREAD, key=("recompile limit", refusal.code)
        ),
        title=f"{refusal.code} runs uncompiled in a thread that does not see the recompile limit "
        "another thread has set",
        tier=Tier.SILENT_WRONG,
        state=PER_THREAD,
        hazard=None,
        sides=(refusal.refused[0].side(f"is refused a compile: {_seen(event)}"), _sides(event)[1]),
        symptoms=(refusal.symptom, _symptom(event)),
        value=_value(event),
    )


def _sides(event: Event) -> tuple[Side, Side]:
    made, seen = event.data["set"], event.data["seen"]
    return (
        Side(
            thread=seen["thread"], region="compile", access=f"compiles: {_seen(event)}",
            stack=frames_of(seen["frames"]),
        ),
        Side(
            thread=made["thread"], region="config",
            access=f"sets {event.data['setting']} = {made['value']}",
            stack=frames_of(made["frames"]),
        ),
    )  # fmt: skip


def _seen(event: Event) -> str:
    return f"{event.data['setting']} is {event.data['seen']['value']} here"


def _symptom(event: Event) -> str:
    made, seen = event.data["set"], event.data["seen"]
    return (
        f"{event.data['setting']}: {made['thread']} set {made['value']}, "
        f"{seen['thread']} compiled with {seen['value']}"
    )


def _value(event: Event) -> Value:
    return Value(before=event.data["set"]["value"], during=event.data["seen"]["value"])


detector = Detector(find=find)
