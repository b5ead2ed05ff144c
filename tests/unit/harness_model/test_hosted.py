"""A user's own target: the captured layers' outputs, and one sentence where it cannot be used.

``transformers`` is stood in for by as much of it as is called; with the real one installed, the
last test takes a real model through it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from harness.graphs import Captured
from harness.model.hosted import Hosted, NoModel, alike, shape_of
from harness.parts import PartBroken
from harness.precision import fp8_target
from tests.conformance.on_device import slot
from tests.unit.harness_model.packing import starts_of

CONFIG = SimpleNamespace(
    num_hidden_layers=6, hidden_size=8, intermediate_size=16, num_attention_heads=2,
    num_key_value_heads=1, vocab_size=32, rope_parameters={"rope_theta": 5000.0},
)  # fmt: skip
TOKENS = torch.tensor([[1, 2, 3]])


class Layer(nn.Module):  # type: ignore[misc]
    """Adds its number; returns a tuple, as older versions do, where the number is even."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def forward(self, hidden: Tensor) -> Any:
        hidden = hidden + self.number
        return (hidden,) if self.number % 2 == 0 else hidden


class Body(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(32, 8)
        self.layers = nn.ModuleList(Layer(number) for number in range(6))

    def forward(self, input_ids: Tensor, use_cache: bool) -> Tensor:
        hidden = self.embed(input_ids)
        for layer in self.layers:
            out = layer(hidden)
            hidden = out[0] if isinstance(out, tuple) else out
        return hidden


class Model(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.model, self.head = Body(), nn.Linear(8, 32, bias=False)

    def get_input_embeddings(self) -> nn.Module:
        return self.model.embed

    def get_output_embeddings(self) -> nn.Module:
        return self.head


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Model:
    model = Model()

    def giving(what: Any) -> Any:
        return SimpleNamespace(from_pretrained=lambda *_, **__: what)

    module = SimpleNamespace(AutoConfig=giving(CONFIG), AutoModelForCausalLM=giving(model))
    monkeypatch.setitem(sys.modules, "transformers", module)
    return model


def test_features_are_the_captured_layers_outputs(stand_in: Model) -> None:
    hosted = Hosted(Path("anywhere"), 2, "cpu", torch.float32)
    assert hosted.captured == (1, 3)
    assert len(hosted.layers) == 4  # the rest is never run
    embedded = stand_in.model.embed(TOKENS)
    wanted = torch.cat((embedded + 1, embedded + 6), dim=-1)
    torch.testing.assert_close(hosted.features(TOKENS), wanted.detach())
    assert not hosted.features(TOKENS).requires_grad
    assert hosted.borrowed.mask_token == 31
    assert torch.equal(hosted.borrowed.head, stand_in.head.weight)


def test_the_shape_is_the_configs(stand_in: Model) -> None:
    shape = shape_of(Path("anywhere"))
    assert (shape.layers, shape.hidden, shape.heads, shape.kv_heads) == (6, 8, 2, 1)
    assert (shape.head_dim, shape.vocab, shape.rope_theta, shape.train_steps) == (4, 32, 5000.0, 0)


def test_fp8_takes_a_users_matrices_with_their_bias() -> None:
    torch.manual_seed(0)
    matrices = nn.Sequential(nn.Linear(64, 48), nn.Linear(48, 32, bias=False)).bfloat16()
    nn.init.normal_(matrices[0].bias)
    x = torch.randn(2, 5, 64, dtype=torch.bfloat16)
    wanted = matrices(x)
    fp8_target.build().target(SimpleNamespace(layers=nn.ModuleList([matrices])))
    assert all(isinstance(matrix, fp8_target.Fp8Linear) for matrix in matrices)
    distance = (matrices(x) - wanted).norm() / wanted.norm()
    assert 1e-3 < distance < 0.1


def test_fp8_refuses_a_target_without_matrices(stand_in: Model) -> None:
    """Or the run would be bf16 under its name."""
    hosted = Hosted(Path("any"), 2, "cpu", torch.bfloat16)
    with pytest.raises(PartBroken, match=r"nn\.Linear"):
        fp8_target.build().target(hosted)


def test_without_transformers_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(NoModel, match="pip install transformers"):
        shape_of(Path("anywhere"))


def test_a_real_model_of_transformers(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.Qwen3Config(
        num_hidden_layers=6, hidden_size=16, intermediate_size=32, num_attention_heads=2,
        num_key_value_heads=1, head_dim=8, vocab_size=32,
    )  # fmt: skip
    model = transformers.Qwen3ForCausalLM(config).eval()
    model.save_pretrained(tmp_path)
    hosted = Hosted(tmp_path, 2, "cpu", torch.float32)
    with torch.no_grad():
        states = model(input_ids=TOKENS, output_hidden_states=True).hidden_states
    wanted = torch.cat([states[index + 1] for index in hosted.captured], dim=-1)
    torch.testing.assert_close(hosted.features(TOKENS), wanted)


def test_a_users_target_is_called_and_never_captured(tmp_path: Path, stand_in: Model) -> None:
    """What it does on the host, such as reading a mask, would spoil a capture."""
    hosted = Hosted(Path("anywhere"), 2, "cpu", torch.float32)
    with slot(tmp_path, "cpu", cudagraphs="manual") as made:
        assert isinstance(made.feeder._graphs, Captured)
        assert made.shared.feeder(0, hosted)._graphs is None


class Remembering(nn.Module):  # type: ignore[misc]
    """A layer whose output depends on every earlier token, and on where a token stands."""

    def forward(self, hidden: Tensor) -> Tensor:
        place = torch.arange(1, hidden.shape[1] + 1)[:, None]
        return hidden.cumsum(dim=1) / place + 0.01 * place


def test_documents_of_packed_rows_go_through_as_rows_of_their_own(stand_in: Model) -> None:
    """So what a model makes of positions and borders does not matter."""
    stand_in.model.layers = nn.ModuleList(Remembering() for _ in range(6))
    hosted = Hosted(Path("anywhere"), 2, "cpu", torch.float32)
    lengths = [[1, 5, 2, 8, 3, 1], [20], [16, 4]]
    starts = starts_of(lengths)
    ids = torch.randint(0, 32, starts.shape, generator=torch.Generator().manual_seed(0))
    packed = hosted.features(ids, starts)
    assert packed.shape == (3, 20, 16)
    for row in range(3):
        for begin in starts[row].unique().tolist():
            mine = starts[row] == begin
            alone = hosted.features(ids[row : row + 1, mine])[0]
            torch.testing.assert_close(packed[row, mine], alone)
    joined = hosted.features(ids)
    assert torch.equal(joined[1], packed[1]) and not torch.allclose(joined[0], packed[0])


def test_documents_are_read_with_those_of_about_their_length() -> None:
    lengths = [[1, 5, 2, 8, 3, 1], [20], [16, 4]]
    groups = list(alike(starts_of(lengths)))
    assert [places.shape for places, _ in groups] == [
        (2, 1),
        (1, 2),
        (2, 4),
        (2, 8),
        (1, 16),
        (1, 20),
    ]
    real = torch.cat([places[kept] for places, kept in groups])
    assert real.sort().values.tolist() == list(range(60)), "every token once"
    assert sum(places.numel() for places, _ in groups) < 2 * 60
