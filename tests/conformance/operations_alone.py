"""Runs operations alone, each in a fork: twice in the main thread, once in another. No pytest.

``python -m tests.conformance.operations_alone [NAME…]`` prints one JSON line per operation. Needs
torch and the standard library only, so it also runs under an interpreter without the test tools:
set ``FXRACE_PYTHON`` for ``test_operations.py`` to do so.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import warnings
from typing import Any

LIMIT_S = 300.0


def alone(name: str) -> dict[str, Any]:
    """What the operation does, run by itself in this process."""
    from fxrace.probe.explore import canonical
    from fxrace.probe.explore.interference_states import Reader
    from fxrace.probe.operations import Reuse, load
    from fxrace.probe.zygote import thread_count

    operation = load(name)
    reason = operation.refuse("cpu")
    if reason is not None:
        return {"name": name, "refused": reason}
    reader = Reader()
    count = 1 if operation.reuse is Reuse.WARM else 3
    subjects = [operation.prepare() for _ in range(count)]
    threads = thread_count()
    prepared_off = reader.off(reader.read())
    outcomes: list[dict[str, Any]] = []

    def run() -> None:
        try:
            outcomes.append(canonical.returned(operation.run(subjects[len(outcomes) % count])))
        except BaseException as error:
            outcomes.append(canonical.raised(error))

    run()
    run()
    thread = threading.Thread(target=run)
    thread.start()
    thread.join(LIMIT_S)
    first, *others = outcomes
    return {
        "name": name,
        "raised": first.get("raised"),
        "differing": [canonical.outcomes_differ(one, first) for one in others],
        "runs": len(outcomes),
        "threads": threads,
        "off": [*prepared_off, *reader.off(reader.read())],
    }


def main(names: list[str]) -> None:
    # CUDA does not survive a fork, so torch must not see any.
    os.environ |= {"TORCHINDUCTOR_COMPILE_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    warnings.simplefilter("ignore")
    from fxrace.probe.preload import preload

    preload()
    from fxrace.probe import operations
    from fxrace.probe.explore.interference_fork import Say, forked
    from fxrace.probe.explore.pair import start_autograd

    start_autograd("cpu")
    for name in names or operations.names():

        def body(say: Say, name: str = name) -> None:
            say({"is": "alone", **alone(name)})

        heard = forked(body, limit_s=LIMIT_S, watchdog=False)
        broken = {"name": name, "broken": [*heard.messages, heard.end.value, heard.words]}
        print(json.dumps(heard.last("alone") or broken), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
