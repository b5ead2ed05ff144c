"""Programs that stand still, each in one particular way; the first argument names which."""

from __future__ import annotations

import json
import queue
import sys
import threading
import time
from functools import partial
from pathlib import Path


class Shop:
    """Two locks of its own."""

    def __init__(self) -> None:
        self.till, self.store = threading.Lock(), threading.Lock()
        self.both = threading.Barrier(2)

    def sell(self) -> None:
        with self.till:
            self.both.wait()
            with self.store:
                pass

    def stock(self) -> None:
        with self.store:
            self.both.wait()
            with self.till:
                pass


def up() -> None:
    print("up", flush=True)


def started(*bodies: object) -> None:
    for number, body in enumerate(bodies):
        threading.Thread(target=body, name=f"worker-{number}").start()  # type: ignore[arg-type]
    up()


def take(lock: threading.Lock) -> None:
    with lock:
        pass


def keep(lock: threading.Lock, held: threading.Event) -> None:
    with lock:
        held.set()
        while True:
            pass


def lock_cycle() -> None:
    """The same two locks in opposite order."""
    shop = Shop()
    started(shop.sell, shop.stock)


def two_shops() -> None:
    """The same code, yet each thread stands before a lock that main holds: no circle."""
    one, other = Shop(), Shop()
    one.both = other.both = threading.Barrier(2)
    one.store.acquire()
    other.till.acquire()
    started(one.sell, other.stock)
    time.sleep(600)


def itself() -> None:
    """One thread before a lock it holds."""
    lock = threading.Lock()
    up()
    with lock:  # noqa: SIM117 (one line would be another program)
        with lock:
            pass


def joined_in_a_circle() -> None:
    """Main waits for the end of a thread that stands before a lock of main's."""
    lock = threading.Lock()
    thread = threading.Thread(target=take, args=(lock,), name="worker-0")
    with lock:
        thread.start()
        up()
        thread.join()


def sleeps() -> None:
    """Native sleep."""
    up()
    time.sleep(600)


def spins() -> None:
    """A busy loop."""
    up()
    while True:
        pass


def hogs() -> None:
    """Native code that never lets go of the GIL."""
    up()
    sum(range(10**15))


def starves() -> None:
    """Main stands before a lock whose holder is busy for ever."""
    lock, held = threading.Lock(), threading.Event()
    threading.Thread(target=keep, args=(lock, held), name="worker-0", daemon=True).start()
    held.wait()
    up()
    with lock:
        pass


def listens() -> None:
    """Nothing to do: main waits at a queue that nobody fills."""
    empty: queue.Queue[int] = queue.Queue()
    up()
    empty.get()


def recorded() -> None:
    """A circle of ``acquire()``, whose holders only the record knows. Holds the record open."""
    record = Path(sys.argv[2]).open("a", buffering=1)  # noqa: SIM115 (open until killed)
    locks = (threading.Lock(), threading.Lock())
    both = threading.Barrier(2)

    def body(mine: int) -> None:
        locks[mine].acquire()
        both.wait()
        data = {"edge": "wait", "lock": f"lock-{1 - mine}", "owner": f"worker-{1 - mine}"}
        name = threading.current_thread().name
        event = {"at_s": 0.0, "thread": name, "ident": 1, "kind": "lock", "data": data}
        record.write(json.dumps(event) + "\n")
        locks[1 - mine].acquire()

    started(partial(body, 0), partial(body, 1))


if __name__ == "__main__":
    globals()[sys.argv[1]]()
