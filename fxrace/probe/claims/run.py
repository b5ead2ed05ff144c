"""The entry into a trial that measures: one arm of one experiment, recorded as ``measured``.

Called inside the trial process as ``fxrace.probe.claims.run:run``. An experiment that fails in a
way it does not measure is no answer: the error is recorded, and the parent calls it inconclusive.
"""

from __future__ import annotations

from fxrace.probe.claims import known
from fxrace.probe.claims._bench import bench_on
from fxrace.probe.recorder import Recorder
from fxrace.records.trial import Trial

EVENT = "measured"


def run(trial: Trial, recorder: Recorder) -> None:
    """Measure what the knobs ``claim``, ``experiment`` and ``arm`` name, on one device."""
    knobs = trial.knobs
    measure = known()[knobs["claim"]].experiment(knobs["experiment"]).arm(knobs["arm"])
    with bench_on(str(trial.settings["device"])) as bench:
        recorder.emit(EVENT, values=dict(measure(bench)))
