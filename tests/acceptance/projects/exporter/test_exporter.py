import pytest
import torch
from exporter import Exporter


class Double(torch.nn.Module):
    def forward(self, x):
        return x * 2 + 1


@pytest.fixture(scope="module")
def exporter():
    return Exporter()


@pytest.mark.parametrize("size", [3])
def test_a_model_is_exported(exporter, size):
    assert exporter.export(Double(), torch.ones(size)) == ["aten.mul.Tensor", "aten.add.Tensor"]
