"""T3: threads that compile see different torch settings.

From torch 2.12 on a setting made in one thread is not seen by the others, autograd's device
threads included; before, it was seen by all of them at any moment. Either way the same function
is compiled under other rules than its author set, depending on the thread that comes first.
"""

from __future__ import annotations

from collections.abc import Mapping

from fxrace.core.detect import Detector
from fxrace.core.evidence import Evidence
from fxrace.core.fingerprint import fingerprint
from fxrace.records.finding import Finding, Side, Tier


def find(evidence: Evidence) -> tuple[Finding, ...]:
    """At most one finding: two threads whose settings differ, every differing setting a symptom."""
    event = evidence.trace.last("config")
    threads: Mapping[str, str] = event.data.get("threads", {}) if event else {}
    if event is None or len(set(threads.values())) < 2:
        return ()
    differing: Mapping[str, Mapping[str, object]] = event.data.get("differing", {})
    first = next(iter(threads))
    second = next(thread for thread in threads if threads[thread] != threads[first])
    return (
        Finding(
            fingerprint=fingerprint(Tier.RACE, state=None, key=("config", *sorted(differing))),
            title=f"threads compile under different settings: {_named(differing)}",
            tier=Tier.RACE,
            state=None,
            hazard=None,
            sides=tuple(
                Side(thread=thread, region="config", access=_seen(differing, thread))
                for thread in (first, second)
            ),
            symptoms=tuple(
                f"{setting}: {', '.join(f'{t} {v}' for t, v in sorted(values.items()))}"
                for setting, values in sorted(differing.items())
            )
            or (f"{len(set(threads.values()))} different sets of settings",),
        ),
    )


def _named(differing: Mapping[str, object]) -> str:
    return ", ".join(sorted(differing)[:3]) or "which ones is not on record"


def _seen(differing: Mapping[str, Mapping[str, object]], thread: str) -> str:
    seen = [f"{s}={values[thread]}" for s, values in sorted(differing.items()) if thread in values]
    return f"sees {', '.join(seen)}" if seen else "sees other settings"


detector = Detector(find=find)
