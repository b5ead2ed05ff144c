"""What is new against a baseline, what is known and what is gone; and the baseline that follows.

The surprise: not seeing a cause says something only about the verb and the torch that looked for
it, so an exploration never clears what a sweep has found, nor torch 2.13 what 2.12 does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from fxrace.records.baseline import SCHEMA, SCHEMA_VERSION, Baseline, Entry, Place, Sighting
from fxrace.records.repro import Judgement
from fxrace.records.tally import Tally

_ABSENT = frozenset({Judgement.NOT_REPRODUCED, Judgement.NOT_APPLICABLE})
EMPTY = Baseline(schema=SCHEMA, schema_version=SCHEMA_VERSION, entries=())


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """What one document saw: one Entry per cause, with the sightings of this look alone.

    ``settled`` maps the places that were looked at as a whole to the number of conclusive trials
    there. What is not seen in such a place is gone; an interrupted run, or a part of a test
    suite, settles nothing.
    """

    entries: tuple[Entry, ...]
    settled: Mapping[Place, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """A look held against a baseline. ``fixed`` are entries of the baseline with only those
    sightings that were looked for again and not seen; ``broken`` are scripts of the catalogue
    that say nothing now and did before.
    """

    new: tuple[Entry, ...]
    known: tuple[Entry, ...]
    fixed: tuple[Entry, ...]
    broken: tuple[Entry, ...] = ()


def compare(baseline: Baseline, look: Look) -> Comparison:
    """Sort what was seen into new and known, and name what was not seen again.

    A cause is known on every torch once it is known on one, unless the baseline says that it was
    not there on this very torch: then it is back, and as good as new.
    """
    known = {entry.fingerprint: entry for entry in baseline.entries}
    seen = [entry for entry in look.entries if shown_in(entry)]
    new = [entry for entry in seen if _new(entry, known.get(entry.fingerprint))]
    fresh = {entry.fingerprint for entry in new}
    return Comparison(
        new=_sorted(new),
        known=_sorted(entry for entry in seen if entry.fingerprint not in fresh),
        fixed=_sorted(gone for entry in baseline.entries if (gone := _gone(entry, look)).seen),
        broken=_sorted(e for e in look.entries if _broke(e, known.get(e.fingerprint))),
    )


def updated(baseline: Baseline, look: Look) -> Baseline:
    """The baseline after this look: new causes in, fixed sightings out, other places untouched.

    A sighting whose old and new intervals overlap stays as it is, so that the file changes only
    when something did.
    """
    entries = {entry.fingerprint: entry for entry in baseline.entries}
    now = {entry.fingerprint: entry for entry in look.entries}
    kept = (_joined(entries.get(name), now.get(name), look) for name in entries.keys() | now.keys())
    return replace(EMPTY, entries=_sorted(entry for entry in kept if entry.seen))


def shown_in(entry: Entry) -> bool:
    """True when any of its sightings shows the cause."""
    return any(sighting.shown for sighting in entry.seen)


def sighted_in(entry: Entry) -> tuple[str, ...]:
    """The tests of its sightings, where the suite of known hazards has seen it."""
    return tuple(sighting.place.what for sighting in entry.seen if sighting.place.what)


def apart(one: Tally, other: Tally) -> bool:
    """True when two 95 % intervals share no rate: the two differ by more than chance allows."""
    return one.high < other.low or other.high < one.low


def _new(entry: Entry, known: Entry | None) -> bool:
    if known is None or not shown_in(known):
        return True
    absent = {sighting.place for sighting in known.seen if not sighting.shown}
    return any(sighting.shown and sighting.place in absent for sighting in entry.seen)


def _gone(entry: Entry, look: Look) -> Entry:
    """The entry with those sightings only that this look should have seen again and did not."""
    now = [
        sighting
        for seen in look.entries
        if seen.fingerprint == entry.fingerprint
        for sighting in seen.seen
    ]
    told = {sighting.place for sighting in now}
    absent = {one.place for one in now if one.judgement in _ABSENT} | (look.settled.keys() - told)
    return replace(entry, seen=tuple(s for s in entry.seen if s.shown and s.place in absent))


def _broke(entry: Entry, known: Entry | None) -> bool:
    was = {sighting.place: sighting.judgement for sighting in known.seen} if known else {}
    return any(
        sighting.judgement is Judgement.BROKEN and was.get(sighting.place) is not Judgement.BROKEN
        for sighting in entry.seen
    )


def _joined(known: Entry | None, now: Entry | None, look: Look) -> Entry:
    was = {sighting.place: sighting for sighting in known.seen} if known else {}
    fresh = {sighting.place: sighting for sighting in now.seen} if now else {}
    kept = {place: one for place, one in was.items() if place not in look.settled}
    for place, sighting in fresh.items():
        kept[place] = _steady(was.get(place), sighting)
    head = now or known
    assert head is not None
    return replace(head, seen=tuple(kept[place] for place in sorted(kept, key=_by_place)))


def _steady(was: Sighting | None, now: Sighting) -> Sighting:
    if was is None or was.judgement is not now.judgement:
        return now
    return now if apart(was.reliability, now.reliability) else was


def _by_place(place: Place) -> tuple[str, str, str]:
    return place.verb, place.torch, place.what


def _sorted(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    return tuple(sorted(entries, key=lambda entry: entry.fingerprint))
