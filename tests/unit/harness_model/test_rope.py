from __future__ import annotations

import torch

from harness.model.rope import rotate, rotation


def turned(x: torch.Tensor, positions: torch.Tensor, theta: float = 1e4) -> torch.Tensor:
    return rotate(x, rotation(positions, x.shape[-1], theta, x.dtype))


def test_rotation_is_multiplication_by_a_unit_complex_number() -> None:
    x = torch.randn(1, 2, 5, 8, generator=torch.Generator().manual_seed(0))
    positions = torch.tensor([[0, 1, 7, 7, 300]])
    speed = 1e4 ** -(torch.arange(4) / 4)
    pairs = torch.complex(x[..., :4], x[..., 4:])
    pairs = pairs * torch.exp(1j * positions[:, None, :, None] * speed)
    torch.testing.assert_close(
        turned(x, positions), torch.cat((pairs.real, pairs.imag), -1), rtol=1e-4, atol=1e-4
    )


def test_scores_depend_on_distance_only() -> None:
    q, k = torch.randn(2, 1, 1, 1, 8, generator=torch.Generator().manual_seed(0))

    def score(at_q: int, at_k: int) -> torch.Tensor:
        return (turned(q, torch.tensor([[at_q]])) * turned(k, torch.tensor([[at_k]]))).sum()

    torch.testing.assert_close(score(9, 4), score(105, 100), rtol=1e-3, atol=1e-4)
    assert (score(9, 4) - score(9, 5)).abs() > 1e-3


def test_positions_may_differ_by_row() -> None:
    x = torch.ones(2, 1, 1, 8)
    out = turned(x, torch.tensor([[0], [3]]))
    torch.testing.assert_close(out[0], x[0])
    assert not torch.allclose(out[1], x[1])
