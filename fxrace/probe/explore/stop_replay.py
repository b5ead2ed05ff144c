"""Plays one stop of interference again, as often as asked, each time in a fork of its own."""

from __future__ import annotations

from collections import Counter

from fxrace.probe.explore import stop_token
from fxrace.probe.explore.guarded import before_hooks
from fxrace.probe.explore.interference_reference import reference
from fxrace.probe.explore.interference_search import Search
from fxrace.probe.explore.pair import prepare, start_autograd
from fxrace.probe.explore.unexplored import quiet
from fxrace.probe.operations import load
from fxrace.probe.recorder import Recorder
from fxrace.records.trial import Trial


def replay(trial: Trial, recorder: Recorder) -> None:
    """Settings: token, point, b_point, wrong (who came out wrong), fingerprint, times.

    Says ``replayed``. A run shows the cause where the same side comes out unlike running alone.
    """
    a, b, given = trial.knobs["a"], trial.knobs["b"], trial.settings
    point, b_point = str(given["point"]), str(given["b_point"] or "")
    if stop_token.written(a, b, point, b_point) != given["token"]:
        raise ValueError("the token is of another point than the store says")
    quiet()
    start_autograd(str(given.get("device") or "cpu"))
    prepared = prepare(load(a), load(b))
    ref = reference(prepared, {})
    if ref.reason:
        raise RuntimeError(ref.reason)
    search, seen = Search(prepared, ref), Counter[str]()
    times, exact = int(given["times"] or 1), 0
    for number in range(times):
        heard = search.single(point, b_until=b_point)
        parties = search.parties(heard)
        showed = any(party.partition(":")[0] == given["wrong"] for party in parties)
        seen[str(given["fingerprint"]) if showed else ", ".join(sorted(parties))] += 1
        exact += any(said["is"] in ("stop", "inside", "blocked") for said in heard.messages)
        if number % 20 == 0:
            recorder.emit("beat", what=f"replayed {number} of {times}")
    recorder.emit(
        "replayed",
        k=seen[str(given["fingerprint"])],
        n=times,
        exact=exact,
        drift=[] if exact == times else [f"A did not come to {point}"],
        fingerprints=dict(seen),
    )


replay.unhooked = True  # type: ignore[attr-defined]
replay.before_hooks = before_hooks  # type: ignore[attr-defined]
