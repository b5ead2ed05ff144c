"""axes ``checkpoint``, ``loss``, ``sync``, and the ways to train otherwise: each passes the gates.

And the gates are not blind. Two well-known mistakes fail them although their training loss is as
good as the right one's: a mask that shows the anchor's own feature (decoding then computes
something else than training did) and labels shifted by one (drafts are rejected).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from harness.model.target import Target
from harness.numerics import Convention
from harness.parts import make
from harness.recipes.tiny import preset as tiny
from tests.conformance.folder import names, usable
from tests.conformance.gates import FIRST, Batches, Learned, Verdict, judge, learn
from tests.unit.harness_model.rig import Leaky

pytestmark = pytest.mark.slow
# fp32, first steps; the largest relative difference seen between parts is 1e-6.
TOLERANCE = 1e-4
PARTS = [(axis, name) for axis in ("checkpoint", "loss") for name in names(axis)]
PLAIN = {"checkpoint": "off", "loss": "chunked"}
DRAFTERS = 2
# Sync parts that compute what another one computes; here only who adds differs.
SAME = {"none": "none", "one_coordinator": "mean"}


@pytest.fixture(scope="module")
def batches(target: Target) -> Batches:
    return Batches(target)


@pytest.fixture(scope="module")
def plain(batches: Batches) -> Learned:
    return learn(batches)


def live(axis: str, name: str) -> Any:
    part = usable(axis, name)
    given = (tiny,) if axis in ("loss", "objective") else ()
    return make(axis, name, part, *given)


def test_the_plain_combination_passes(plain: Learned, batches: Batches) -> None:
    assert judge(plain, batches.target).passed


@pytest.mark.parametrize(("axis", "name"), PARTS, ids=[f"{a}-{n}" for a, n in PARTS])
def test_a_part_that_changes_no_numbers_passes(
    batches: Batches, plain: Learned, axis: str, name: str
) -> None:
    part = live(axis, name)
    learned = plain if PLAIN[axis] == name else learn(batches, gear={axis: part})
    assert learned.losses[:FIRST] == pytest.approx(plain.losses[:FIRST], rel=TOLERANCE)
    assert judge(learned, batches.target).passed


@pytest.mark.parametrize("name", [name for name in names("sync") if name not in SAME])
def test_drafters_that_share_pass(batches: Batches, name: str) -> None:
    learned = learn(batches, steps=200, drafters=DRAFTERS, method={"sync": live("sync", name)})
    assert alike(learned)
    assert judge(learned, batches.target).passed


@pytest.mark.parametrize("name", names("sync"))
def test_drafters_stay_replicas_or_go_their_own_ways(batches: Batches, name: str) -> None:
    """``one_coordinator`` computes what ``mean`` does, ``none`` what a drafter alone does."""
    sync = live("sync", name)
    learned = learn(batches, steps=4, drafters=DRAFTERS, method={"sync": sync})
    assert alike(learned) is sync.together
    if name in SAME:
        other = {"sync": live("sync", SAME[name])}
        same = learn(batches, steps=4, drafters=DRAFTERS, method=other)
        assert learned.losses == same.losses


def alike(learned: Learned) -> bool:
    """Whether all drafters hold the same weights, to the last bit."""
    mine = list(learned.drafter.parameters())
    return all(
        one.equal(two)
        for other in learned.others
        for one, two in zip(mine, other.parameters(), strict=True)
    )


def test_d_pace_passes(batches: Batches) -> None:
    from harness.loss.chunked import Chunked

    loss = Chunked(tiny, live("objective", "d_pace"))
    assert judge(learn(batches, gear={"loss": loss}), batches.target).passed


def test_the_other_convention_passes_and_must_not_be_mixed(batches: Batches) -> None:
    convention: Convention = live("labels", "from_anchor")
    learned = learn(batches, gear={"convention": convention})
    assert judge(learned, batches.target, convention=convention).passed
    assert not judge(learned, batches.target).drafts_are_accepted


def leaky(batches: Batches) -> Verdict:
    """Context kv <= anchor: the anchor's own feature, which decoding does not have yet."""
    return judge(learn(batches, gear={"attention": Leaky()}), batches.target, attention=Leaky())


def shifted(batches: Batches) -> Verdict:
    """Slot k predicts token a + k + 1, decoded as if it were a + k."""
    learned = learn(batches, gear={"convention": Convention(first=1, offset=1)})
    return judge(learned, batches.target)


@pytest.mark.parametrize(
    ("mutant", "gate"),
    [(leaky, "training_is_like_decoding"), (shifted, "drafts_are_accepted")],
)
def test_the_gates_catch_what_the_loss_praises(
    batches: Batches, mutant: Callable[[Batches], Verdict], gate: str
) -> None:
    verdict = mutant(batches)
    assert verdict.loss_falls
    assert not getattr(verdict, gate)
    assert not verdict.passed


def test_without_features_nothing_is_learned(batches: Batches, plain: Learned) -> None:
    blind = judge(learn(batches, blind=True), batches.target)
    assert not blind.drafts_are_accepted
    assert judge(plain, batches.target).acceptance >= 1.5 * blind.acceptance
