"""The trend over numbers of GPUs that the benchmark fits."""

from __future__ import annotations

import pytest

from tests.benchmarks.scaling import fitted


def test_what_follows_amdahl_is_found_again_and_what_does_not_is_told() -> None:
    def speed(gpus: int) -> float:
        return 1 / (0.001 + 0.009 / gpus)

    exact = fitted({gpus: speed(gpus) for gpus in (1, 2, 4)})
    assert (exact["serial_s"], exact["shared_s"]) == pytest.approx((0.001, 0.009))
    assert exact["expected"][8] == pytest.approx(speed(8))
    assert exact["misfit"] < 1e-9
    assert fitted({1: 100.0, 2: 200.0, 4: 200.0})["misfit"] > 0.1


def test_one_point_is_no_trend() -> None:
    assert fitted({1: 100.0}).keys() == {"problem"}
