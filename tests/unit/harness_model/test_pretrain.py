from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from harness.model import pretrain
from harness.model.pretrain import digest, load_target, train
from harness.recipes.tiny import preset as tiny

brief = replace(tiny, target=replace(tiny.target, layers=3, train_steps=2, train_rows=1))


def same(one: torch.nn.Module, two: torch.nn.Module) -> bool:
    mine, theirs = one.state_dict(), two.state_dict()
    return all(torch.equal(mine[name], theirs[name]) for name in mine)


@pytest.fixture
def no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("trained although it was cached")

    monkeypatch.setattr(pretrain, "train", refuse)


def test_training_is_deterministic_and_private() -> None:
    before = torch.get_rng_state()
    one, two = (train(brief, torch.device("cpu")) for _ in range(2))
    assert same(one, two)
    assert torch.equal(before, torch.get_rng_state())


def test_a_trained_target_is_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setenv("FXRACE_CACHE", str(tmp_path / "cache"))
    first = load_target(brief, "cpu")
    assert [path.suffix for path in sorted((tmp_path / "cache").iterdir())] == [".lock", ".pt"]
    request.getfixturevalue("no_training")
    assert same(first, load_target(brief, "cpu"))
    other = replace(brief, target=replace(brief.target, train_steps=3))
    with pytest.raises(AssertionError, match="trained"):
        load_target(other, "cpu")


@pytest.mark.parametrize("damage", [b"", b"not a file of torch's", None])
def test_a_damaged_file_is_trained_again(tmp_path: Path, damage: bytes | None) -> None:
    first = load_target(brief, "cpu", tmp_path)
    (path,) = tmp_path.glob("*.pt")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    assert same(first, load_target(brief, "cpu", tmp_path))
    assert len(path.read_bytes()) == len(whole)


def test_a_file_of_other_shapes_is_trained_again(tmp_path: Path) -> None:
    first = load_target(brief, "cpu", tmp_path)
    (path,) = tmp_path.glob("*.pt")
    torch.save({"embedding": torch.zeros(2, 2)}, path)
    assert same(first, load_target(brief, "cpu", tmp_path))


def test_without_a_usable_folder_it_only_costs_time(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file where the folder should be")
    target = load_target(brief, "cpu", tmp_path / "taken")
    assert same(target, train(brief, torch.device("cpu")))
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_of_several_who_ask_at_once_one_trains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, go, trained = threading.Event(), threading.Event(), []

    def slow(preset: object, device: torch.device, text: object) -> torch.nn.Module:
        began.set()
        assert go.wait(30)
        trained.append(threading.get_ident())
        return train(brief, device)

    monkeypatch.setattr(pretrain, "train", slow)
    found: list[torch.nn.Module] = []
    askers = [
        threading.Thread(target=lambda: found.append(load_target(brief, "cpu", tmp_path)))
        for _ in range(3)
    ]
    for asker in askers:
        asker.start()
    assert began.wait(30)
    go.set()
    for asker in askers:
        asker.join(60)
    assert len(trained) == 1
    assert len(found) == 3
    assert all(same(found[0], other) for other in found)


def test_an_untrained_preset_needs_no_folder(tmp_path: Path, no_training: None) -> None:
    raw = replace(brief, target=replace(brief.target, train_steps=0))
    one = load_target(raw, "cpu", tmp_path / "cache", dtype=torch.bfloat16)
    assert one.embedding.dtype == torch.bfloat16
    assert same(one, load_target(raw, "cpu", dtype=torch.bfloat16))
    assert not (tmp_path / "cache").exists()
    assert not any(parameter.requires_grad for parameter in one.parameters())


def test_the_digest_names_what_weights_depend_on() -> None:
    digests = {
        digest(preset, device)
        for preset in (brief, tiny, replace(brief, contexts=(64,)))
        for device in ("cpu", "cuda")
    }
    assert len(digests) == 6
    assert digest(brief, "cpu") == digest(replace(brief, learning_rate=1.0), "cpu")


def test_training_leaves_the_thread_count_as_it_was() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        train(brief, torch.device("cpu"))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
