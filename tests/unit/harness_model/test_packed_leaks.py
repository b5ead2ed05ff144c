"""Nothing passes a border: not into a feature, a loss or a gradient of another document.

For every attention part. A token is changed in one document; everything that belongs to the others
must keep every bit. Twins without the border, in each place that has one, must show.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from fxrace.probe.recorder import Recorder
from harness.attention.dense import Dense
from harness.contracts import Attention
from harness.data.corpora import text_of
from harness.decode import teacher_forced
from harness.figures.counters import Counters
from harness.model.cache import KeyValues
from harness.model.drafter import build_drafter
from harness.model.pretrain import SEED, UNTOLD, train
from harness.model.target import Target
from harness.model.training import Batch, Blocks, draft_terms, draw_blocks
from harness.parts import make
from tests.conformance.folder import names, usable
from tests.unit.harness_model.packing import batch_from, file_of, packed_rows
from tests.unit.harness_model.rig import hidden_of, plain_gear, raw, unmasked
from tests.unit.harness_model.test_packed_mask import operations

ALIKE = 2e-5
"""fp32, the same sums in another order or at other angles."""


class Borderless:
    """The mutant: an attention part that forgets where documents begin."""

    def __init__(self, part: Attention) -> None:
        self.fused, self.attend, self._plan = part.fused, part.attend, part.plan

    def plan(
        self, anchors: Tensor, keep: Tensor, context: int, block: int, since: Tensor | None = None
    ) -> Any:
        return self._plan(anchors, keep, context, block)


@pytest.fixture(params=names("attention"))
def attention(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Attention]:
    torch._dynamo.reset()
    recorder = Recorder(tmp_path / "events.jsonl")
    counters = Counters(recorder)
    part = usable("attention", request.param)
    live = make("attention", request.param, part, torch.device("cpu"), 0, counters)
    yield live
    counters.finish(fused=live.fused)
    recorder.close()


@pytest.fixture
def rows(tmp_path: Path) -> tuple[Tensor, ...]:
    made = packed_rows(file_of(tmp_path))
    assert all(len(row.unique()) >= 4 for row in made[2])
    return made


@dataclass(frozen=True, kw_only=True, slots=True)
class Changed:
    """Rows in which one token is another, and which tokens are of other documents than it is."""

    rows: tuple[Tensor, ...]
    others: Tensor


def changed(rows: tuple[Tensor, ...], place: int = 0) -> Changed:
    """In row 0, the token at ``place`` behind the beginning of its second document."""
    ids, mask, starts = rows
    begin = int(starts[0].unique()[1])
    other = ids.clone()
    other[0, begin + place] = (ids[0, begin + place] + 7) % 60
    others = starts != begin
    others[1] = True
    return Changed(rows=(other, mask, starts), others=others)


def learned(
    target: Target, batch: Batch, blocks: Blocks, attention: Attention, counted: Tensor
) -> list[Tensor]:
    """Numerator of the loss over ``counted`` blocks [b, N], and its gradients."""
    drafter = build_drafter(raw, seed=1, device="cpu")
    blocks = replace(blocks, weights=blocks.weights * counted[:, :, None])
    gear = plain_gear(raw, attention=attention)
    terms = draft_terms(drafter, target.borrowed, batch.features, blocks, gear=gear, index=0)
    terms.numerator.backward()
    return [terms.numerator.detach(), *(weight.grad for weight in drafter.parameters())]


def drawn(batch: Batch) -> Blocks:
    """One block of row 0 runs across the border before the document that is changed."""
    return draw_blocks(batch, raw.drafter, 63, torch.Generator().manual_seed(0))


def both(
    target: Target, attention: Attention, rows: tuple[Tensor, ...]
) -> tuple[list[Tensor], list[Tensor]]:
    """What blocks of the other documents teach, before and after the change."""
    change, found = changed(rows), []
    for given in (rows, change.rows):
        batch = batch_from(target, given)
        blocks = drawn(batch)
        counted = change.others.gather(1, blocks.anchors) & blocks.keep
        assert 0 < int(counted[0].sum()) < int(blocks.keep[0].sum()), "blocks on either side"
        found.append(learned(target, batch, blocks, attention, counted))
    return found[0], found[1]


def test_no_feature_knows_of_another_document(raw_target: Target, rows: Any) -> None:
    change = changed(rows)
    before, after = (batch_from(raw_target, r).features for r in (rows, change.rows))
    assert torch.equal(before[change.others], after[change.others])
    assert not torch.equal(before[~change.others], after[~change.others])
    leaky, leaked = (raw_target.features(r[0]) for r in (rows, change.rows))
    assert not torch.equal(leaky[change.others], leaked[change.others]), "the twin must leak"


def test_features_are_those_of_the_document_alone(raw_target: Target, rows: Any) -> None:
    packed, starts = batch_from(raw_target, rows).features, rows[2]
    for row in range(2):
        for begin in starts[row].unique().tolist():
            mine = starts[row] == begin
            alone = raw_target.features(rows[0][row : row + 1, mine])[0]
            torch.testing.assert_close(packed[row, mine], alone, rtol=ALIKE, atol=ALIKE)


def test_training_the_target_looks_across_no_border_either(raw_target: Target, rows: Any) -> None:
    change = changed(rows)
    with torch.enable_grad():
        before, after = (raw_target.logits(r[0], r[2]) for r in (rows, change.rows))
        leaky, leaked = (raw_target.logits(r[0]) for r in (rows, change.rows))
    assert torch.equal(before[change.others], after[change.others])
    assert not torch.equal(leaky[change.others], leaked[change.others])


def test_a_target_is_not_trained_to_guess_how_a_document_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    goals: list[Tensor] = []

    def noting(logits: Tensor, wanted: Tensor, **more: Any) -> Tensor:
        goals.append(wanted)
        return F.cross_entropy(logits, wanted, **more)

    monkeypatch.setattr("harness.model.pretrain.F", SimpleNamespace(cross_entropy=noting))
    few = replace(raw, target=replace(raw.target, train_steps=1, train_rows=2))
    for how in ("packed", "apart"):
        text = text_of(str(file_of(tmp_path)), 64, how)
        train(few, torch.device("cpu"), text)
        ids, _, *starts = text.rows(seed=SEED, index=0, rows=2, context=few.contexts[0])
        wanted = ids[:, 1:].clone()
        for borders in starts:
            wanted[borders[:, 1:] == torch.arange(1, few.contexts[0])] = UNTOLD
        assert torch.equal(goals.pop(), wanted.flatten())
        assert (wanted == UNTOLD).any() == (how == "packed")


@pytest.mark.slow
def test_nothing_is_learned_from_another_document(
    raw_target: Target, attention: Attention, rows: Any
) -> None:
    before, after = both(raw_target, attention, rows)
    assert all(gradient.any() for gradient in before)
    assert all(map(torch.equal, before, after))
    for mine, plain in zip(before, both(raw_target, Dense(), rows)[0], strict=True):
        torch.testing.assert_close(mine, plain, rtol=1e-4, atol=1e-5)
    before, after = both(raw_target, Borderless(attention), rows)
    assert not any(map(torch.equal, before, after)), "the mutant must leak into every weight"


@pytest.mark.slow
def test_a_packed_row_of_one_document_is_todays_row(
    raw_target: Target, attention: Attention, tmp_path: Path
) -> None:
    """Tokens, features, blocks, loss and gradients, bit for bit."""
    path = file_of(tmp_path, (48, 48, 48))
    packed, plain = (
        batch_from(raw_target, packed_rows(path, documents=how)) for how in ("packed", "apart")
    )
    assert packed.starts is not None and plain.starts is None
    assert torch.equal(packed.features, plain.features)
    two = drawn(packed), drawn(plain)
    assert (len(two[0].tensors), len(two[1].tensors)) == (6, 5)
    assert all(map(torch.equal, two[0].tensors, two[1].tensors))
    mine, wanted = (
        learned(raw_target, batch, blocks, attention, blocks.keep)
        for batch, blocks in zip((packed, plain), two, strict=True)
    )
    assert all(map(torch.equal, mine, wanted))


def test_no_label_is_of_another_document(raw_target: Target, rows: Any) -> None:
    """The first token behind a border is the label of no block before it."""
    change = changed(rows)
    before, after = (drawn(batch_from(raw_target, r)) for r in (rows, change.rows))
    theirs = change.others.gather(1, before.anchors) & before.keep
    supervised = before.weights > 0
    assert torch.equal((before.labels * supervised)[theirs], (after.labels * supervised)[theirs])
    # The twin: without its weights, one of them is.
    assert not torch.equal(before.labels[theirs], after.labels[theirs])


def test_training_sees_what_decoding_sees_of_a_document_alone(
    raw_target: Target, rows: Any
) -> None:
    """Though positions run on in the drafter: only their differences count."""
    drafter, batch = build_drafter(raw, seed=3, device="cpu"), batch_from(raw_target, rows)
    blocks, borrowed = drawn(batch), raw_target.borrowed
    with torch.no_grad():
        trained = hidden_of(drafter, borrowed, batch, blocks, Dense())
        noise = borrowed.embed(blocks.tokens).unflatten(1, (-1, raw.drafter.block))
        for row, j in blocks.keep.nonzero().tolist():
            memory, anchor = KeyValues(), int(blocks.anchors[row, j])
            since = int(rows[2][row, anchor])
            seen = raw_target.features(rows[0][row : row + 1, since : anchor + 1])[:, :-1]
            drafter.remember(seen, memory)
            alone = drafter.propose(noise[row, j][None], memory, unmasked)[0]
            torch.testing.assert_close(trained[row, j], alone, rtol=1e-4, atol=1e-4)


def test_blocks_cut_by_a_border_do_not_count_for_the_estimate(
    raw_target: Target, rows: Any
) -> None:
    """As those cut by the row's end do not."""
    drafter, batch = build_drafter(raw, seed=3, device="cpu"), batch_from(raw_target, rows)
    blocks, borrowed, starts = drawn(batch), raw_target.borrowed, rows[2]
    guesses = hidden_of(drafter, borrowed, batch, blocks, Dense()) @ borrowed.head.T
    matching = []
    for row, j in blocks.keep.nonzero().tolist():
        anchor = int(blocks.anchors[row, j])
        last = anchor + raw.drafter.block - 1
        if last < batch.context and starts[row, last] == starts[row, anchor]:
            right = guesses[row, j].argmax(-1)[1:] == rows[0][row, anchor + 1 : last + 1]
            matching.append(int(right.long().cumprod(0).sum()))
    assert 0 < len(matching) < int(blocks.keep.sum())
    estimate = teacher_forced(
        drafter, borrowed, batch, shape=raw.drafter, attention=Dense(),
        generator=torch.Generator().manual_seed(0),
    )  # fmt: skip
    assert estimate == pytest.approx(1 + sum(matching) / len(matching))


def test_a_packed_step_waits_for_nothing(raw_target: Target, rows: Any) -> None:
    batch = batch_from(raw_target, rows)
    blocks, used = drawn(batch), torch.ones(2, raw.drafter.anchors)
    seen = operations(lambda: learned(raw_target, batch, blocks, Dense(), used))
    assert not {"_local_scalar_dense", "nonzero", "is_nonzero"} & set(seen)
    assert seen["mm"] > 10, "backward was seen too"
