"""Whether a tokenizer is fit: ours are, broken ones fail with an input that shows it, lossy ones say what is lost."""

import json
from collections.abc import Iterable
from functools import cache
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokbench as library
from tests.conftest import ODD, TOPICS, Tokbench
from tokbench.errors import TokbenchError
from tokbench.fitness import probes, reach
from tokbench.fitness.agreement import LONG, plain_texts
from tokbench.fitness.contexts import BEFORE, contexts, likeness
from tokbench.fitness.digits import consistency
from tokbench.fitness.every import GROUPS
from tokbench.fitness.kept import _common
from tokbench.fitness.pieces import Pieces
from tokbench.fitness.plain import Checked, as_json, checked, fit
from tokbench.fitness.round_trip import round_trip
from tokbench.fitness.shorten import shortest
from tokbench.fitness.subject import Subject
from tokbench.options import Options
from tokbench.patterns.sequence import automaton_of_sequence
from tokbench.pretokenization import pretokenization_of, schemes
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES, Vocabulary

TEXTS = [*TOPICS, ODD * 3]
CHECKS = {check.name: check for checks in GROUPS.values() for check in checks}


class Plain:
    """A tokenizer of single bytes with nothing but what every one answers; what breaks it overrides one call."""

    def __len__(self) -> int:
        return 256

    def encode(self, text: bytes, threads: int = 1) -> Any:
        return list(text)

    def decode(self, ids: Iterable[int]) -> bytes:
        return bytes(ids)

    def encode_batch(self, texts: Iterable[bytes], threads: int = 1) -> list[Any]:
        return [self.encode(text) for text in texts]

    def count(self, text: bytes, threads: int = 1) -> int:
        return len(self.encode(text))


def found(tokenizer: Any, name: str, **more: Any) -> Checked:
    check = CHECKS[name]
    return Checked("", check, check.run(Subject(tokenizer, **more)))


@pytest.fixture(autouse=True)
def quick_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forms that are written at once; test_exports has all."""
    monkeypatch.setattr("tokbench.fitness.exports.FORMS", ("tiktoken", "tokens"))


@pytest.fixture(scope="module")
def built() -> dict[str, Tokenizer]:
    """A tokenizer of each of several segmentations."""
    counts = library.count(TEXTS)
    names = ("bpe", "unigram", "wordpiece", "picky_bpe", "greedtok")
    return {name: library.build(name, counts, 700) for name in names}


@pytest.mark.parametrize("name", ["bpe", "unigram", "wordpiece", "picky_bpe", "greedtok"])
def test_ours_pass(name: str, built: dict[str, Tokenizer]) -> None:
    """Nothing fails; C1, C3, C8 and C14 of TokEval pass, and every token is reached or proved unreachable."""
    done = checked(Subject(built[name], documents=TEXTS))
    assert fit(done), [(one.check.name, one.found.told) for one in done if one.result == "failure"]
    passed = {one.check.also for one in done if one.result == "passed"}
    assert passed >= {"C1", "C3", "C8", "C10", "C11", "C12", "C14", "C17"}
    json.dumps(as_json({}, done))


def test_wordpiece_of_another_library_gets_no_long_pretokens(built: dict[str, Tokenizer]) -> None:
    """It takes minutes for those that the code points make."""
    for name, short in (("wordpiece", True), ("bpe", False)):
        texts = plain_texts(Subject(built[name]), 40)
        longest = max(int(np.diff(built[name].scheme.boundaries(text)).max(initial=0)) for text in texts)
        assert (longest <= LONG) == short
        assert len(texts) > 1000


def test_every_sanity_check_of_tokeval_is_there() -> None:
    assert {check.also for check in CHECKS.values()} - {""} == {f"C{number}" for number in range(1, 18) if number != 9}
    assert len(probes.EVERY_PROBE) == len(set(probes.EVERY_PROBE)) == 78


def broken(**calls: Any) -> Any:
    return type("Broken", (Plain,), calls)()


CLOCK = count()


def drops(what: bytes) -> Any:
    return broken(encode=lambda self, text, threads=1: list(text.replace(what, b"")))


@pytest.mark.parametrize(
    ("name", "tokenizer", "shown"),
    [
        ("every_byte", drops("ÿ".encode()), "ÿ".encode()),
        ("probes", drops(b"{'"), b"{'"),
        ("white_space", drops(b"  "), b"  "),
        ("white_space", broken(encode=lambda self, text, threads=1: list(text.lstrip(b" "))), b" "),
        ("controls", drops(b"\x1b"), b"\x1b"),
        ("emoji", drops("\u200d".encode()), "\u200d".encode()),
        ("unicode", drops("\U0001e900".encode()), "\U0001e900".encode()),
        ("invalid_utf8", drops(b"\xc0\x80"), b"\xc0\x80"),
        ("long_runs", broken(encode=lambda self, text, threads=1: list(text[:999])), b"a" * 1000),
        ("repeatable", broken(encode=lambda self, text, threads=1: [*text, *[next(CLOCK)] * (b"\0" in text)]), b"\0"),
        ("batch", broken(encode_batch=lambda self, texts, threads=1: [[*one.strip(b"\7")] for one in texts]), b"\7"),
        ("count", broken(count=lambda self, text, threads=1: len(text) - (b"\t\t" in text)), b"\t\t"),
        ("special_in_text", broken(encode=lambda self, text, threads=1: list(text.replace(b"<s>", b"\1"))), b"<s>"),
    ],
)  # fmt: skip
def test_what_fails_names_the_shortest_input(name: str, tokenizer: Any, shown: bytes) -> None:
    assert found(Plain(), name).result == "passed"
    outcome = found(tokenizer, name)
    assert outcome.result == "failure"
    assert outcome.found.examples[0].data == shown


def test_threads_that_change_ids_fail() -> None:
    odd = broken(encode=lambda self, text, threads=1: np.array([*text[: -(threads > 1) or None]]))
    assert found(odd, "threads").result == "failure"
    alone = broken(encode=lambda self, text: np.array([*text]))
    assert found(alone, "threads").result == "not applicable"


def test_threads_get_a_long_text_where_they_can_share_it_out() -> None:
    """Libraries take megabytes many seconds, and a text that cannot be cut is one thread's whole."""
    plain: dict[str, Any] = {"encode": lambda self, text, threads=1: np.array([*text])}
    cut, whole = broken(**plain), broken(**plain, last_cut=lambda self, text: 0)
    sizes = [found(one, "threads").found.numbers["bytes"] for one in (cut, whole)]
    assert sizes[0] > 3 << 20 > 10 * sizes[1]


def test_the_cause_of_a_loss_is_told_by_the_ids_at_hand() -> None:
    asked: list[bytes] = []

    def encode(self: Any, text: bytes, threads: int = 1) -> list[int]:
        asked.append(text)
        return [byte or 1 for byte in text]

    lossy = broken(encode=encode)
    assert not round_trip(Subject(lossy), [b"a", b"b", b"c\0"]).passes
    assert asked.count(b"c\0") == 1


class Lossy(Plain):
    """Lower-cased, blanks joined, in composed form, by the ``tokenizers`` library, as adapters of it are."""

    def __init__(self) -> None:
        from tokenizers import Tokenizer, models, normalizers

        characters = {chr(code): place for place, code in enumerate(range(0x20, 0x7F))}
        self.library = Tokenizer(models.BPE(characters, [], unk_token="?"))
        self.library.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
        self.unknown_id = self.library.token_to_id("?")

    def __len__(self) -> int:
        return int(self.library.get_vocab_size())

    def normalized(self, text: str) -> str:
        return str(self.library.normalizer.normalize_str(text))

    def encode(self, text: bytes, threads: int = 1) -> Any:
        return self.library.encode(text.decode("utf-8", "replace"), add_special_tokens=False).ids

    def decode(self, ids: Iterable[int]) -> bytes:
        return "".join(self.library.id_to_token(one) for one in ids).encode()


def test_a_lossy_tokenizer_fails_the_round_trip_and_says_why() -> None:
    lossy = Lossy()
    outcome = found(lossy, "probes")
    assert outcome.result == "failure"
    assert set(outcome.found.numbers["causes"]) >= {"case", "unknown token"}
    by = {example.data: example.gave for example in outcome.found.examples}
    assert b"a" in by.values() or any(len(data) <= 4 for data in by)
    assert found(lossy, "normaliser").result == "passed"
    assert found(lossy, "unknown_tokens").result == "warning"
    assert found(lossy, "forbidden").result == "failure"
    assert found(lossy, "bytes").result == "warning"
    assert found(lossy, "invalid_utf8").result == "failure"


def test_a_tokenizer_that_rejects_is_unfit_and_nothing_raises() -> None:
    def reject(self: Plain, text: bytes, threads: int = 1) -> list[int]:
        return list(text.decode().encode())

    rejecting = broken(encode=reject)
    done = {one.check.name: one for one in checked(Subject(rejecting))}
    assert done["invalid_utf8"].result == "failure"
    assert "UnicodeDecodeError" in done["invalid_utf8"].found.examples[0].what
    assert done["unicode"].result == "passed"


def test_white_space_kept() -> None:
    """By hand: of the one blank in "hello world" none is kept in "helloworld "."""
    assert _common("hello world", "helloworld ") == 0
    assert _common("a  b", "a b") == 1
    assert _common("a  b", "a  b") == 2


def test_consistency_by_hand() -> None:
    assert consistency({"5": 10}) == 1
    assert consistency({"2+3": 1, "1+4": 1, "3+2": 1}) == pytest.approx(0)
    assert consistency({"3": 900, "1+2": 100}) == pytest.approx(1 - 0.4689956)


def test_numbers_are_told(built: dict[str, Tokenizer]) -> None:
    by_digit = Tokenizer(built["unigram"].vocabulary, "digit", "greedy")
    outcome = found(by_digit, "digits")
    assert outcome.result == "passed"
    assert outcome.found.told == "one pattern a length"
    assert found(by_digit, "numbers").found.numbers["patterns"]["4"] == {"1+1+1+1": 9000}


def vocabulary(*tokens: bytes, **more: Any) -> Vocabulary:
    return Vocabulary((*BYTES, *tokens), **more)


def reached(tokenizer: Tokenizer) -> dict[bytes, reach.Reach]:
    return {one.token: one for one in reach.every_reach(Subject(tokenizer)) if len(one.token) > 1}


def test_a_merge_that_is_forestalled_is_proved_unreachable() -> None:
    """abc of ab and c; bc comes first and takes the b from every ab that a c follows."""
    a, b, c = b"abc"
    merges = np.array([[b, c, 256], [a, b, 257], [257, c, 258]], np.int32)
    told = reached(Tokenizer(vocabulary(b"bc", b"ab", b"abc", merges=merges), "none", "merge"))
    assert [told[token].proof for token in (b"bc", b"ab", b"abc")] == ["alone", "alone", "segmentation"]
    assert told[b"abc"].witness == "its bytes are always cut as 61|62 63"


def test_a_beaten_token_is_proved_unreachable() -> None:
    scores = np.full(258, -3.0)
    scores[256], scores[257] = -7.0, -5.0
    told = reached(Tokenizer(vocabulary(b"ab", b"cd", scores=scores), "none", "likelihood"))
    assert (told[b"ab"].proof, told[b"cd"].proof) == ("segmentation", "alone")


def test_a_token_across_pretokens_is_proved_unreachable() -> None:
    told = reached(Tokenizer(vocabulary(b"a b", b" b", b"12", "é ".encode()[1:]), "first_space_digit", "greedy"))
    assert {token: one.proof for token, one in told.items()} == {
        b"a b": "pre-tokenization", b" b": "alone", b"12": "pre-tokenization", b"\xa9 ": "context",
    }  # fmt: skip
    assert told[b"\xa9 "].witness == "\u2029 ".encode(), "the end of a blank, which a blank may follow"


def test_a_part_of_a_character_is_reached_in_its_context() -> None:
    """The end of é with a letter after it: cut off after it by itself, as bytes of no character are no letters."""
    token = "éa".encode()[1:]
    told = reached(Tokenizer(vocabulary(token), "gpt2", "greedy"))[token]
    assert told.proof == "context"
    assert isinstance(told.witness, bytes)
    assert token in told.witness


def test_tokens_that_are_taken_whole_are_proved_unreachable() -> None:
    """No merges make abcd, as bc comes first: only where it is a pre-token by itself is it reached."""
    tokens = vocabulary(b"bc", b"abcd", b"1bcd")
    fives = {"method": "regex", "pattern": "[a-z]{5}|[a-z]|[^a-z]"}
    for pattern, proofs in (
        ("[a-z]+|[^a-z]", {b"abcd": "alone", b"1bcd": "segmentation"}),
        ("x[a-z]+|[^x]+", {b"abcd": "alone", b"1bcd": "alone"}),
        ("x?[a-z]{4}|[a-z]|1[a-z]*2?|[^a-z]", {b"abcd": "alone", b"1bcd": "alone"}),
        (fives["pattern"], {b"abcd": "segmentation", b"1bcd": "segmentation"}),
    ):
        told = reached(Tokenizer(tokens, {"method": "regex", "pattern": pattern}, "ranked"))
        assert {token: told[token].proof for token in proofs} == proofs
    merges = np.array([[98, 99, 256]], np.int32)
    whole = Vocabulary(tokens.tokens, merges, ids=np.arange(len(tokens), dtype=np.int32) * 3 + 7)
    told = reached(Tokenizer(whole, fives, "whole_or_merge"))
    assert (told[b"abcd"].proof, told[b"abcd"].witness) == ("segmentation", "its bytes are always cut as 61|62 63|64")
    assert (told[b"abcd"].id, told[b"bc"].proof) == (7 + 3 * 257, "search"), "abcbc has it, which none tries"


PATTERNS = ("gpt2", "cl100k", "superbpe_2", "deepseek_v3", {"method": "regex", "pattern": "ab(?=c)|a|[^a]{2,3}"})


@cache
def pieces_of(setting: str) -> Pieces:
    splits = pretokenization_of(setting).splits
    assert splits is not None
    return Pieces(automaton_of_sequence(splits))


@pytest.mark.parametrize("setting", PATTERNS)
@given(st.text(st.sampled_from([*"asé \n1½!'漢bc"]), min_size=1, max_size=4), st.data())
def test_no_text_has_what_is_proved(setting: Any, token: str, data: st.DataObject) -> None:
    """A text that has the token in one piece, or as one, is found for nothing of which it is proved that none has."""
    scheme = pretokenization_of(setting)
    pieces = pieces_of(scheme.text)
    around = st.text(st.sampled_from([*"asé \n1½!'漢bc"]), max_size=5).map(str.encode)
    own = token.encode()[data.draw(st.integers(0, 1)) :]
    before, after = data.draw(around), data.draw(around)
    bounds = set(scheme.boundaries(before + own + after).tolist())
    start, end = len(before), len(before) + len(own)
    inside = not bounds & set(range(start + 1, end))
    assert pieces.within(own) or not inside
    assert pieces.alone(own) or not (inside and {start, end} <= bounds)


def test_what_patterns_never_keep() -> None:
    cl100k, superbpe = (
        Pieces(automaton_of_sequence(schemes[name].cut(Options()).splits)) for name in ("cl100k", "superbpe_2")
    )
    assert [cl100k.within(token) for token in (b"1234", b"a1", b" 12", b"a b", b"123", b" ab", b"!a")] == [
        False
    ] * 4 + [True] * 3
    assert [cl100k.alone(token) for token in (b"\n a", b"'ll", b"ll", b"\xa9a")] == [False, True, True, True]
    assert [superbpe.within(token) for token in (b"a1", b"a b", b"a..")] == [False, True, True]


CHARACTERS = st.sampled_from(["a", "s", "l", "é", " ", "\n", "\u3000", "1", "½", "!", "'", "\ufffd", "漢", "\u0301"])


def kept(scheme: str, before: str, token: str, after: str) -> bool:
    bounds = schemes[scheme].function((before + token + after).encode()).tolist()
    start = len(before.encode())
    return not any(start < bound < start + len(token.encode()) for bound in bounds)


@pytest.mark.parametrize("scheme", ["space", "digit", "space_digit", "first_space", "first_space_digit", "gpt2"])
@given(st.text(CHARACTERS, min_size=2, max_size=4), st.text(CHARACTERS, max_size=4), st.text(CHARACTERS, max_size=4))
def test_the_contexts_stand_for_all(scheme: str, token: str, before: str, after: str) -> None:
    """What is kept in one pre-token by any context is kept by one of those that are tried; so is what it is like."""
    if kept(scheme, before, token, after):
        tried = [(lead.decode(), rest.decode()) for lead, rest in contexts(token.encode())]
        assert any(kept(scheme, lead, token, rest) for lead, rest in tried)
        alike = likeness(token.encode()).decode()
        assert any(kept(scheme, lead, alike, rest) for lead, rest in tried)
    assert BEFORE[0] == b""


@given(st.binary(max_size=40), st.binary(min_size=1, max_size=2))
def test_the_shortest_still_shows_it(text: bytes, needle: bytes) -> None:
    whole = text + needle + text
    found = shortest(whole, lambda one: needle in one)
    assert needle in found
    assert found == needle or whole.decode()


def test_never_used_and_broken_characters(built: dict[str, Tokenizer]) -> None:
    outcome = found(built["bpe"], "never_used", documents=[b"aaaa"])
    assert outcome.result == "told"
    assert outcome.found.numbers["tokens"] == len(built["bpe"]) - len(set(built["bpe"].encode(b"aaaa").tolist()))
    greedy = Tokenizer(vocabulary(b"\xc3\xa9\xc3"), "none", "greedy")
    outcome = found(greedy, "broken_characters")
    assert (outcome.result, outcome.found.numbers["longer"]) == ("told", 1)
    assert outcome.found.numbers["tokens"] == 129


@pytest.mark.parametrize(
    ("name", "token"), [("marks", "\u0301".encode()), ("long_tokens", b"a" * 65), ("leading_marks", "\u0301a".encode())]
)
def test_odd_entries_are_warned_of(name: str, token: bytes) -> None:
    several = [token, *(("\u0301" + chr(0x61 + place)).encode() for place in range(1, 4) if name == "leading_marks")]
    assert found(Tokenizer(vocabulary(*several), "none", "greedy"), name).result == "warning"
    assert found(Tokenizer(vocabulary(b"ab"), "none", "greedy"), name).result == "passed"


def test_ids_with_holes_and_twice() -> None:
    assert found(broken(ids=[*range(255), 300]), "holes").result == "warning"
    assert found(broken(ids=[*range(255), 254]), "sizes").result == "failure"
    assert (
        found(broken(decode=lambda self, ids: bytes(65 if one == 66 else one for one in ids)), "duplicates").result
        == "warning"
    )
    special = broken(special_tokens={"<s>": 7, "</s>": 7, "<x>": 999})
    assert found(special, "special_ids").result == "failure"
    assert found(special, "special_apart").result == "warning"


class Adapted(Plain):
    """As adapters are that work through a library: ids beyond its tokens, and no part of ours."""

    ids = id_limit = 300
    special: ClassVar[dict[int, bytes]] = {299: b"</s>"}

    def __init__(self) -> None:
        self.library = SimpleNamespace(unknown=0, normalized=lambda text: text)

    def decode(self, ids: Iterable[int]) -> bytes:
        found = list(ids)
        if max(found, default=0) < 256:
            return bytes(found)
        return b"".join(self.special.get(one) or bytes([one]) for one in found)

    def __getattr__(self, name: str) -> Any:
        raise TokbenchError(f"it has no {name}")


def test_an_adapter_is_asked_for_nothing_that_it_has_not() -> None:
    done = {one.check.name: one for one in checked(Subject(Adapted()))}
    assert fit(list(done.values())), [one.found.told for one in done.values() if one.result == "failure"]
    assert done["sizes"].found.told == "256 ids, 256 tokens"
    assert done["special_ids"].result == "passed"
    assert done["unknown_tokens"].result == "passed"
    assert done["normaliser"].result == "passed"
    assert done["pretokens"].result == "not applicable"


def test_the_command(built: dict[str, Tokenizer], tmp_path: Path, tokbench: Tokbench) -> None:
    built["bpe"].save(tmp_path / "bpe")
    (tmp_path / "text.txt").write_bytes(TOPICS[0])
    outcome = tokbench("check", tmp_path / "bpe", "--documents", tmp_path / "text.txt")
    assert outcome.status == 0
    assert b"\x1b" not in outcome.stdout
    assert b"\nfit: " in outcome.stdout
    outcome = tokbench("check", tmp_path / "bpe", "--json")
    told = json.loads(outcome.stdout)
    assert told["fit"] is True
    assert {one["name"] for one in told["checks"]} == {*CHECKS}


def test_the_command_s_status_where_something_fails(
    built: dict[str, Tokenizer], tmp_path: Path, tokbench: Tokbench
) -> None:
    """A tokenizer.json that gives other ids beside a tokenizer."""
    counts = library.count(TEXTS)
    from tokbench.adapters.tokenizer_json import to_hugging_face

    built["bpe"].save(tmp_path / "bpe")
    other = to_hugging_face(library.build("bpe", counts, 600))
    assert other is not None
    other.save(str(tmp_path / "bpe" / "tokenizer.json"))
    outcome = tokbench("check", tmp_path / "bpe", "--json")
    assert outcome.status == 1
    assert [one["name"] for one in json.loads(outcome.stdout)["checks"] if one["result"] == "failure"] == ["exported"]


def test_no_tokenizer_to_check(tmp_path: Path, tokbench: Tokbench) -> None:
    assert "does not exist" in tokbench("check", tmp_path / "nowhere").message
    (tmp_path / "file").write_text("x")
    assert "file: of no form that is known; name it with --from" in tokbench("check", tmp_path / "file").message
    assert "tokbench.json" in tokbench("check", tmp_path).message
