"""The channel delivers in order, is bounded, and lets everybody go."""

from __future__ import annotations

import threading
import traceback

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.channel import Channel, Stopped
from tests.unit.harness_threads.threads import Background


def channel(window: int = 2) -> Channel[int]:
    return Channel(window, threading.Event())


@settings(max_examples=40)
@given(producers=st.lists(st.integers(0, 2), max_size=24), window=st.integers(1, 5))
def test_any_split_over_producers_arrives_in_order(producers: list[int], window: int) -> None:
    lane = channel(window)
    lane.end(len(producers))

    def produce(mine: int) -> list[bool]:
        return [lane.put(i, i) for i, who in enumerate(producers) if who == mine]

    threads = [Background(lambda mine=mine: produce(mine)) for mine in range(3)]

    def consume() -> list[int]:
        return list(iter(lane.get, None))

    assert Background(consume).result() == list(range(len(producers)))
    assert all(all(thread.result()) for thread in threads)


def test_put_waits_beyond_the_window_and_not_within() -> None:
    lane = channel(window=2)
    assert lane.put(1, 11)  # out of order, within the window
    early = Background(lambda: lane.put(2, 12))
    assert early.stuck
    assert lane.put(0, 10)  # what is expected next always fits
    assert lane.get() == 10
    assert early.result()
    assert [lane.get(), lane.get()] == [11, 12]


def test_a_position_cannot_be_put_twice() -> None:
    lane = channel()
    lane.put(0, 1)
    with pytest.raises(ValueError, match="position 0"):
        lane.put(0, 2)
    lane.get()
    with pytest.raises(ValueError, match="position 0"):
        lane.put(0, 3)


def test_get_waits_for_the_end_mark() -> None:
    lane = channel()
    waiting = Background(lane.get)
    assert waiting.stuck
    lane.end(0)
    assert waiting.result() is None


def fails_here() -> None:
    raise KeyError("producer")


def test_a_producers_error_reaches_the_consumer_with_its_traceback() -> None:
    lane = channel()
    lane.put(0, 1)
    waiting = Background(lambda: lane.put(5, 5))
    try:
        fails_here()
    except KeyError as error:
        lane.fail(error)
        lane.fail(ValueError("a later one"))
        with pytest.raises(KeyError) as caught:
            lane.get()
        assert caught.value is error
    frames = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert "fails_here" in frames
    assert waiting.result() is False
    assert lane.closed


def test_a_consumer_that_closes_lets_producers_go() -> None:
    lane = channel(window=1)
    lane.put(0, 0)
    waiting = Background(lambda: lane.put(1, 1))
    assert waiting.stuck
    lane.close()
    assert waiting.result() is False
    assert lane.put(9, 9) is False


def test_stop_ends_every_wait() -> None:
    stop = threading.Event()
    lane: Channel[int] = Channel(1, stop)
    consumer, producer = Background(lane.get), Background(lambda: lane.put(7, 7))
    assert consumer.stuck and producer.stuck
    stop.set()
    lane.wake()
    assert producer.result() is False
    with pytest.raises(Stopped):
        consumer.result()


def test_no_window_is_refused() -> None:
    with pytest.raises(ValueError, match="window"):
        channel(window=0)
