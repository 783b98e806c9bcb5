"""Sanity checks: Tokbench's tokenizers pass, broken ones fail with the shortest input, lossy ones report the loss."""

import json
import re
import unicodedata
from collections.abc import Iterable
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
from tokbench.commands import inspect as inspect_commands
from tokbench.errors import TokbenchError
from tokbench.inspection.checks import probes, run
from tokbench.inspection.checks.agreement import LONG, plain_texts
from tokbench.inspection.checks.finding import shortest
from tokbench.inspection.checks.round_trip import _common, round_trip
from tokbench.inspection.checks.run import GROUPS, CheckResult, as_json, checked, fit
from tokbench.inspection.checks.subject import TokenizerUnderTest
from tokbench.inspection.checks.vocabulary import consistency
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES, Vocabulary

TEXTS = [*TOPICS, ODD * 3]
CHECKS = {check.name: check for checks in GROUPS.values() for check in checks}


def found(tokenizer: Any, name: str, **more: Any) -> CheckResult:
    check = CHECKS[name]
    return CheckResult("", check, check.run(TokenizerUnderTest(tokenizer, **more)))


class Plain:
    """A tokenizer of single bytes with only the required methods; broken tokenizers override one of them."""

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


def broken(**calls: Any) -> Any:
    return type("Broken", (Plain,), calls)()


def drops(what: bytes) -> Any:
    return broken(encode=lambda self, text, threads=1: list(text.replace(what, b"")))


class Lossy(Plain):
    """A lossy tokenizer with lower case and NFC by the ``tokenizers`` library, like its adapters."""

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


class Adapted(Plain):
    """Like adapters that run through a library: ids beyond its tokens, and no native parts."""

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


@pytest.fixture(autouse=True)
def quick_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use only fast export forms; test_exports has all."""
    monkeypatch.setattr("tokbench.inspection.checks.agreement.FORMS", ("tiktoken", "tokens"))


@pytest.fixture(scope="module")
def built() -> dict[str, Tokenizer]:
    """Build a tokenizer for each of several segmentations."""
    counts = library.count(TEXTS)
    names = ("bpe", "unigram", "wordpiece", "picky_bpe", "greedtok")
    return {name: library.build(name, counts, 700) for name in names}


@pytest.mark.parametrize("name", ["bpe", "unigram", "wordpiece", "picky_bpe", "greedtok"])
def test_ours_pass(name: str, built: dict[str, Tokenizer]) -> None:
    """No check fails, and the listed checks of TokEval pass."""
    done = checked(TokenizerUnderTest(built[name], documents=TEXTS))
    assert fit(done), [(one.check.name, one.finding.sentence) for one in done if one.result == "failure"]
    passed = {one.check.also for one in done if one.result == "passed"}
    assert passed >= {"C1", "C3", "C8", "C10", "C11", "C12", "C14", "C17"}
    json.dumps(as_json({}, done))


def test_wordpiece_of_another_library_gets_no_long_pretokens(built: dict[str, Tokenizer]) -> None:
    """It would need minutes for the pre-tokens of all code points."""
    for name, short in (("wordpiece", True), ("bpe", False)):
        texts = plain_texts(TokenizerUnderTest(built[name]), 40)
        longest = max(int(np.diff(built[name].scheme.boundaries(text)).max(initial=0)) for text in texts)
        assert (longest <= LONG) == short
        assert len(texts) > 1000


def test_every_sanity_check_of_tokeval_is_there() -> None:
    assert {check.also for check in CHECKS.values()} - {""} == {f"C{number}" for number in range(1, 18) if number != 9}
    assert len(probes.EVERY_PROBE) == len(set(probes.EVERY_PROBE)) == 78


CLOCK = count()


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
def test_failed_checks_show_the_shortest_input(name: str, tokenizer: Any, shown: bytes) -> None:
    assert found(Plain(), name).result == "passed"
    outcome = found(tokenizer, name)
    assert outcome.result == "failure"
    assert outcome.finding.examples[0].data == shown


@given(st.binary(max_size=40), st.binary(min_size=1, max_size=2))
def test_the_shortest_still_shows_it(text: bytes, needle: bytes) -> None:
    whole = text + needle + text
    found = shortest(whole, lambda one: needle in one)
    assert needle in found
    assert found == needle or whole.decode()


def test_threads_that_change_ids_fail() -> None:
    odd = broken(encode=lambda self, text, threads=1: np.array([*text[: -(threads > 1) or None]]))
    assert found(odd, "threads").result == "failure"
    alone = broken(encode=lambda self, text: np.array([*text]))
    assert found(alone, "threads").result == "not applicable"


def test_threads_get_a_long_text_where_they_can_share_it_out() -> None:
    """Libraries need many seconds for megabytes, and a text that cannot be split has a single thread."""
    plain: dict[str, Any] = {"encode": lambda self, text, threads=1: np.array([*text])}
    cut, whole = broken(**plain), broken(**plain, last_cut=lambda self, text: 0)
    sizes = [found(one, "threads").finding.numbers["bytes"] for one in (cut, whole)]
    assert sizes[0] > 3 << 20 > 10 * sizes[1]


def test_cause_of_a_loss_is_found_from_the_ids() -> None:
    asked: list[bytes] = []

    def encode(self: Any, text: bytes, threads: int = 1) -> list[int]:
        asked.append(text)
        return [byte or 1 for byte in text]

    lossy = broken(encode=encode)
    assert not round_trip(TokenizerUnderTest(lossy), [b"a", b"b", b"c\0"]).passes
    assert asked.count(b"c\0") == 1


def test_a_lossy_tokenizer_fails_the_round_trip_and_says_why() -> None:
    lossy = Lossy()
    outcome = found(lossy, "probes")
    assert outcome.result == "failure"
    assert set(outcome.finding.numbers["causes"]) >= {"case", "unknown token"}
    by = {example.data: example.gave for example in outcome.finding.examples}
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
    done = {one.check.name: one for one in checked(TokenizerUnderTest(rejecting))}
    assert done["invalid_utf8"].result == "failure"
    assert "UnicodeDecodeError" in done["invalid_utf8"].finding.examples[0].what
    assert done["unicode"].result == "passed"


def test_white_space_kept() -> None:
    """By hand: the space of "hello world" is not kept in "helloworld "."""
    assert _common("hello world", "helloworld ") == 0
    assert _common("a  b", "a b") == 1
    assert _common("a  b", "a  b") == 2


def test_white_space_that_is_kept_is_counted_over_all_texts() -> None:
    characters = "".join(probes.PROBES["white space"])
    white = [one for one in characters if one in " \t\n\r" or unicodedata.category(one) == "Zs"]
    outcome = found(drops(b" "), "white_space_kept")
    assert outcome.finding.numbers == {"kept": len(white) - white.count(" "), "white": len(white)}


def test_other_ids_the_second_time_are_shown() -> None:
    """A tokenizer that loses the last byte of twelve or more; the example has the first eight ids of both encodings."""
    shortening = broken(decode=lambda self, ids: bytes(ids if len(ids) < 12 else ids[:-1]))
    outcome = found(shortening, "idempotence")
    assert outcome.result == "failure"
    (example,) = outcome.finding.examples
    assert len(example.data) == 12
    assert example.what == f"ids {list(example.data[:8])}, then {list(example.data[:8])}"


def test_consistency_by_hand() -> None:
    assert consistency({"5": 10}) == 1
    assert consistency({"2+3": 1, "1+4": 1, "3+2": 1}) == pytest.approx(0)
    assert consistency({"3": 900, "1+2": 100}) == pytest.approx(1 - 0.4689956)


def test_digit_checks_report_segmentation_patterns(built: dict[str, Tokenizer]) -> None:
    by_digit = Tokenizer(built["unigram"].vocabulary, "digit", "greedy")
    outcome = found(by_digit, "digits")
    assert outcome.result == "passed"
    assert outcome.finding.sentence == "one pattern per length"
    assert found(by_digit, "numbers").finding.numbers["patterns"]["4"] == {"1+1+1+1": 9000}


def test_texts_that_come_back_are_counted() -> None:
    done = [round_trip(TokenizerUnderTest(Plain()), texts) for texts in ([b"a"], [b"a", b"b"])]
    assert [one.sentence for one in done] == ["the text is restored", "all 2 texts are restored"]
    assert [one.numbers for one in done] == [{"texts": 1, "lost": 0}, {"texts": 2, "lost": 0}]


def test_numbers_that_are_cut_in_two_ways_are_of_one_length() -> None:
    """The examples are the smallest numbers of each pattern: 10 to 59 are tokens, 60 to 99 are not."""
    tokenizer = Tokenizer(Vocabulary((*BYTES, *(b"%d" % number for number in range(10, 60)))), "none", "greedy")
    outcome = found(tokenizer, "digits")
    assert outcome.result == "warning"
    assert "at 2 digits" in outcome.finding.sentence
    assert [example.data for example in outcome.finding.examples] == [b"10", b"60"]


def test_probes_have_every_byte_and_control() -> None:
    assert {bytes([byte]) for byte in range(256)} <= set(probes.invalid_utf8())
    controls = {chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) == "Cc"}
    assert {one.encode() for one in controls} <= set(probes.controls())


def test_never_used_and_broken_characters(built: dict[str, Tokenizer]) -> None:
    outcome = found(built["bpe"], "never_used", documents=[b"aaaa"])
    assert outcome.result == "told"
    assert outcome.finding.numbers["tokens"] == len(built["bpe"]) - len(set(built["bpe"].encode(b"aaaa").tolist()))
    greedy = Tokenizer(Vocabulary((*BYTES, b"\xc3\xa9\xc3")), "none", "greedy")
    outcome = found(greedy, "broken_characters")
    assert (outcome.result, outcome.finding.numbers["longer"]) == ("told", 1)
    assert outcome.finding.numbers["tokens"] == 129


@pytest.mark.parametrize(
    ("name", "token"), [("marks", "\u0301".encode()), ("long_tokens", b"a" * 65), ("leading_marks", "\u0301a".encode())]
)
def test_odd_entries_are_warned_of(name: str, token: bytes) -> None:
    several = [token, *(("\u0301" + chr(0x61 + place)).encode() for place in range(1, 4) if name == "leading_marks")]
    assert found(Tokenizer(Vocabulary((*BYTES, *several)), "none", "greedy"), name).result == "warning"
    assert found(Tokenizer(Vocabulary((*BYTES, b"ab")), "none", "greedy"), name).result == "passed"


def test_ids_with_holes_and_twice() -> None:
    assert found(Plain(), "duplicates").result == "passed"
    assert found(broken(ids=[*range(255), 300]), "holes").result == "warning"
    assert found(broken(ids=[*range(255), 254]), "sizes").result == "failure"
    assert (
        found(broken(decode=lambda self, ids: bytes(65 if one == 66 else one for one in ids)), "duplicates").result
        == "warning"
    )
    special = broken(special_tokens={"<s>": 7, "</s>": 7, "<x>": 999})
    assert found(special, "special_ids").result == "failure"
    assert found(broken(special_tokens={"<s>": 7}), "special_ids").result == "failure"
    assert found(special, "special_apart").result == "warning"


def test_an_adapter_is_asked_for_nothing_that_it_has_not() -> None:
    done = {one.check.name: one for one in checked(TokenizerUnderTest(Adapted()))}
    assert fit(list(done.values())), [one.finding.sentence for one in done.values() if one.result == "failure"]
    assert done["sizes"].finding.sentence == "256 ids, 256 tokens"
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
    assert b"\nvalid: " in outcome.stdout
    outcome = tokbench("check", tmp_path / "bpe", "--json")
    told = json.loads(outcome.stdout)
    assert told["fit"] is True
    assert {one["name"] for one in told["checks"]} == {*CHECKS}


def test_the_command_s_status_where_something_fails(
    built: dict[str, Tokenizer], tmp_path: Path, tokbench: Tokbench
) -> None:
    """The folder has a tokenizer.json with other ids."""
    counts = library.count(TEXTS)
    from tokbench.adapters.export_hugging_face import to_hugging_face

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
    assert "file: not a known format; name it with --from" in tokbench("check", tmp_path / "file").message
    assert "tokbench.json" in tokbench("check", tmp_path).message


def test_check_in_python_is_that_of_the_command_line(tmp_path: Path, tokbench: Tokbench) -> None:
    made = library.build("bpe", library.count(TEXTS), 300, name="bpe")
    made.save(tmp_path / "bpe")
    checks = library.check(made, TEXTS, limit=2)
    told = json.loads(tokbench("check", tmp_path / "bpe", "--json").stdout)
    assert [one["name"] for one in checks.to_dict()["checks"]] == [one["name"] for one in told["checks"]]
    assert checks.fit
    assert not checks.failures
    assert re.fullmatch(r"Checks\('bpe', \d+ checks, valid\)", repr(checks))
    assert str(checks).startswith("Tokenizer('bpe', gpt2, 300 tokens, merge)\nvalid: ")
    assert checks._repr_html_().startswith("<pre>Tokenizer(&#x27;bpe")
    assert {one.check.name: one for one in checks.results}["documents"].finding.sentence == "all 2 texts are restored"


def test_check_and_show_of_wrapped_functions() -> None:
    checks = library.check(library.wrap(lambda text: [bytes([one]) for one in text.encode()]))
    assert [one.check.name for one in checks.failures] == ["invalid_utf8"]
    assert "failed: invalid_utf8" in repr(checks)
    ids = library.wrap(lambda text: [*text.encode()], name="bytes")
    for call in (library.check, lambda tokenizer: library.show(tokenizer, "cat")):
        with pytest.raises(
            TokbenchError, match=r"bytes: has no decode; pass one, as in tokbench.wrap\(encode, decode\)"
        ):
            call(ids)
    assert len(library.show(library.wrap(lambda text: [*text.encode()], bytes), "cat").cuts[0].tokens) == 3


def test_show(tmp_path: Path, tokbench: Tokbench, monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = (library.build("bpe", library.count(TEXTS), size, name=f"bpe {size}") for size in (256, 300))
    for one in (small, large):
        one.save(tmp_path / str(len(one)))
    cuts = library.show([small, large], "the <cat>")
    told = json.loads(tokbench("show", tmp_path / "256", tmp_path / "300", "the <cat>", "--json").stdout)
    assert cuts.to_dict()["disputed_borders"] == told["disputed_borders"]
    assert [one["tokens"] for one in cuts.to_dict()["tokenizers"]] == [one["tokens"] for one in told["tokenizers"]]
    assert repr(cuts) == f"Cuts(9 bytes; tokens: bpe 256 9, bpe 300 {large.count('the <cat>')})"
    assert str(cuts).startswith("bpe 256 t")
    html = cuts._repr_html_()
    assert "&lt;" in html
    assert html.count("<span title=") == 9 + large.count("the <cat>")
    assert "#ffd787" in html
    assert "#ffd787" not in library.show(small, b"the \xff")._repr_html_()
    monkeypatch.chdir(tmp_path)
    Path("cat.txt").write_text("the cat")
    for arguments, said in (
        ((small, "cat.txt"), "cat.txt is a file; pass its text, as in tokbench.read('cat.txt')[0]"),
        ((small, "a" * 100_001), "the text has 100,001 bytes; pass 100,000 or fewer"),
        (([small, "bpe"], "cat"), "'bpe' is not a tokenizer; pass it through tokbench.load or tokbench.wrap"),
        (("bpe", "cat"), "'bpe' is not a tokenizer; pass one, or several in a list"),
        (([], "cat"), "pass a tokenizer"),
        ((small, 5), "5 is not text; pass str or bytes"),
    ):
        with pytest.raises(TokbenchError, match=re.escape(said)):
            library.show(*arguments)


def test_check_reads_the_beginning_of_long_texts(
    tmp_path: Path, tokbench: Tokbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to a number of bytes over all documents; the last one is cut between two words."""
    library.build("bpe", library.count(TEXTS), 256).save(tmp_path / "bpe")
    texts = [tmp_path / "short.txt", tmp_path / "long.txt", tmp_path / "other.txt"]
    for text, content in zip(texts, ("ab cd", "ef gh " * 10, "ij"), strict=True):
        text.write_text(content)
    seen: list[list[bytes]] = []
    monkeypatch.setattr(inspect_commands, "MOST_CHECKED", 15)
    monkeypatch.setattr(run, "checked", lambda subject: seen.append(list(subject.documents)) or [])
    monkeypatch.setattr(run, "as_text", lambda *arguments: "")
    done = tokbench("check", tmp_path / "bpe", *texts)
    assert done.status == 0
    assert "check reads the first 15 bytes of the text" in done.stderr
    assert seen[0] == [b"ab cd", b"ef gh ef"]
    tokbench("check", tmp_path / "bpe", texts[0])
    assert seen[1] == [b"ab cd"]


def test_perturb_of_much_text_names_the_memory_that_it_needs(tmp_path: Path, tokbench: Tokbench) -> None:
    (tmp_path / "text.txt").write_text("one two")
    done = tokbench("perturb", tmp_path / "text.txt", "--bytes", 50_000_000, "-o", tmp_path / "lines.parquet")
    assert re.search(r"--memory 1000: too little for this command; allow it 8,2\d\d MB or more", done.message)
