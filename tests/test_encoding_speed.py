"""Cold encoding speed: every round encodes with a tokenizer that has met no text; check and scoreboard share it."""

import json
from collections.abc import Iterator
from itertools import accumulate, chain, repeat
from pathlib import Path

import polars as pl
import pytest

import tokbench as library
from tests.conftest import TOPICS, Tokbench
from tokbench import encoding_speed
from tokbench.encoding_speed import LEAST_BYTES, LEAST_ROUNDS, MOST_BYTES, MOST_ROUNDS, ColdSpeed, Sample, cold_speed
from tokbench.fitness import speed as fitness_speed
from tokbench.fitness.subject import Subject

TEXT = b"the cat sat on the mat " * 3000


class Remembers:
    """A tokenizer that remembers the texts that it has met; copies remember nothing."""

    met: tuple[bytes, ...] = ()
    copies: list["Remembers"]

    def __init__(self) -> None:
        self.copies = []

    def __copy__(self) -> "Remembers":
        fresh = Remembers()
        self.copies.append(fresh)
        return fresh

    def encode(self, text: bytes) -> None:
        assert text not in self.met, "the text was met before"
        self.met += (text,)


def ticks(*rounds: float) -> Iterator[float]:
    """Readings of a clock: rounds take these seconds, and the last one repeats."""
    taken = chain(rounds, repeat(rounds[-1]))
    return accumulate(chain([0.0], chain.from_iterable((one, 1.0) for one in taken)))


@pytest.mark.parametrize(
    ("rounds", "number", "middle"),
    [((4.0, 1.0, 2.0), LEAST_ROUNDS, 2.0), ((0.05, 0.06, 0.08), 4, 0.07), ((0.001,), MOST_ROUNDS, 0.001)],
)
def test_every_round_is_a_first_pass(rounds: tuple[float, ...], number: int, middle: float) -> None:
    """The median counts, and rounds go on until the clock has run long enough."""
    tokenizer, clock = Remembers(), ticks(*rounds)
    tokenizer.encode(TEXT)
    found = cold_speed(tokenizer, [TEXT, b"a hat"], lambda: next(clock))
    assert found is not None
    assert (found.bytes, found.rounds) == (len(TEXT) + 5, number)
    assert found.seconds == pytest.approx(middle)
    assert [one.met for one in tokenizer.copies] == [(TEXT, b"a hat")] * number


def test_a_tokenizer_of_ours_forgets_what_it_met_when_copied() -> None:
    """A second pass by one tokenizer is faster than the first pass of each copy."""
    from copy import copy

    tokenizer = library.build("bpe", library.count(TOPICS), 700)
    tokenizer.encode(TEXT)
    fresh = copy(tokenizer)
    assert tokenizer._encoder._encoders
    assert not fresh._encoder._encoders
    assert fresh.encode(TEXT).tolist() == tokenizer.encode(TEXT).tolist()


def test_short_texts_are_not_timed_and_long_ones_are_cut() -> None:
    assert cold_speed(Remembers(), [b"a" * (LEAST_BYTES - 1)]) is None
    assert cold_speed(Remembers(), [b"a" * LEAST_BYTES]) is not None
    sample = Sample([b"", b"a" * (MOST_BYTES - 2), b"bcd", b"e"])
    assert sample.texts == [b"a" * (MOST_BYTES - 2), b"bc"]


def test_check_and_the_scoreboard_measure_the_same_way(
    tokbench: Tokbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both call the same function with the same texts."""
    asked: list[list[bytes]] = []

    def measure(tokenizer: object, texts: list[bytes]) -> ColdSpeed:
        asked.append(texts)
        return ColdSpeed(sum(map(len, texts)), 0.5, 3)

    monkeypatch.setattr(encoding_speed, "cold_speed", measure)
    monkeypatch.setattr(fitness_speed, "cold_speed", measure)
    texts = [TEXT, b"a hat"]
    rows = {"document": [0, 1], "language": [""] * 2, "text": texts}
    pl.DataFrame(rows).write_parquet(tmp_path / "0000.parquet")
    tokenizer = library.build("bpe", library.count(TOPICS), 300)
    tokenizer.save(tmp_path / "bpe")
    call = ("count_tokens", tmp_path / "bpe", tmp_path / "0000.parquet", "--memory", "9000")
    done = tokbench(*call, "--speed", tmp_path / "speed.json", "-o", tmp_path / "tokens.json")
    assert done.status == 0, done.stderr
    found = fitness_speed.speed(Subject(tokenizer, documents=texts))
    assert asked == [texts, texts]
    written = json.loads((tmp_path / "speed.json").read_text())
    assert found.numbers["bytes_per_second"] == written["bytes"] / written["seconds"]
    assert "cold" in found.told
