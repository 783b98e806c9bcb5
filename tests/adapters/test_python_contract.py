"""Values and exceptions of a user's functions: one contract for ``from: python`` and ``tokbench.wrap``."""

import copy
import os
import pickle
import signal
import sys
from collections import UserDict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tokbench as library
from tests.conftest import Tokbench
from tokbench.errors import TokbenchError
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.libraries import python_functions
from tokbench.tokenizer.libraries.python import TRUSTED
from tokbench.tokenizer.libraries.python_functions import PythonTokenizer


@pytest.fixture(params=["wrap", "file"])
def face(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Tokenizer]:
    """A function that makes a tokenizer of ``encode`` and ``decode`` by each of the two faces."""
    monkeypatch.setenv(TRUSTED, "")
    monkeypatch.chdir(tmp_path)

    def wrapped(encode: Any, decode: Any = None, size: int | None = None) -> Tokenizer:
        return library.wrap(encode, decode, name="mine.py:tokenizer", size=size)

    def of_file(encode: Any, decode: Any = None, size: int | None = None) -> Tokenizer:
        Path("mine.py").write_text(
            "import functions\n\n\nclass Tokenizer:\n    vocab_size = functions.size\n\n"
            "    def encode(self, text):\n        return functions.encode(text)\n\n"
            + ("    def decode(self, ids):\n        return functions.decode(ids)\n\n" if decode else "")
            + "\n\ntokenizer = Tokenizer()\n"
        )
        functions = SimpleNamespace(encode=encode, decode=decode, size=size or 1000)
        monkeypatch.setitem(sys.modules, "functions", functions)
        return library.load("mine.py:tokenizer", form="python")

    return wrapped if request.param == "wrap" else of_file


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class Lazy:
    """An encoding whose ids raise an exception."""

    @property
    def ids(self) -> list[int]:
        raise RuntimeError("no ids")


def failing() -> Iterator[int]:
    yield 1
    raise RuntimeError("no more")


ACCEPTED: dict[str, Callable[[], Any]] = {
    "list": lambda: [1, 2, 3],
    "tuple": lambda: (1, 2, 3),
    "range": lambda: range(1, 4),
    "generator": lambda: (one for one in (1, 2, 3)),
    "int32": lambda: np.array([1, 2, 3], np.int32),
    "uint8": lambda: np.array([1, 2, 3], np.uint8),
    "numbers of numpy": lambda: [np.int64(1), np.int32(2), 3],
    "Encoding": lambda: SimpleNamespace(ids=[1, 2, 3]),
    "BatchEncoding": lambda: UserDict(input_ids=[1, 2, 3]),
    "attribute input_ids": lambda: SimpleNamespace(input_ids=(1, 2, 3)),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_sequences_of_ids_are_accepted(face: Callable[..., Tokenizer], name: str) -> None:
    tokenizer = face(lambda text: ACCEPTED[name]())
    assert tokenizer.encode("a").tolist() == [1, 2, 3]
    assert face(lambda text: []).encode("a").tolist() == []


def test_tensors_are_accepted_if_they_have_one_dimension(face: Callable[..., Tokenizer]) -> None:
    torch = pytest.importorskip("torch")
    assert face(lambda text: torch.tensor([1, 2, 3])).encode("a").tolist() == [1, 2, 3]
    assert face(lambda text: list(torch.tensor([1, 2, 3]))).encode("a").tolist() == [1, 2, 3]
    for value in (torch.tensor(5), torch.tensor([[1, 2, 3]]), torch.tensor([1.0]), [torch.tensor([5])]):
        with pytest.raises(TokbenchError, match="encode returned"):
            face(lambda text, value=value: value).encode("a")


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "None": (lambda: None, "None"),
    "scalar": (lambda: 5, "5"),
    "scalar of numpy": (lambda: np.array(5), "array(5)"),
    "text": (lambda: "abc", "'abc'"),
    "bytes": (lambda: b"abc", "b'abc'"),
    "set": (lambda: {1, 2}, "{1, 2}"),
    "frozenset": (lambda: frozenset([1]), "frozenset({1})"),
    "keys": (lambda: {1: 2}.keys(), "dict_keys([1])"),
    "mapping": (lambda: {"a": 1}, "{'a': 1}"),
    "object": (Unprintable, "a value of type Unprintable"),
    "nested": (lambda: [[1, 2], [3]], "[1, 2]"),
    "nested in one": (lambda: [[1, 2]], "[1, 2]"),
    "two dimensions": (lambda: np.array([[1, 2]]), "[1, 2]"),
    "array in a list": (lambda: [np.array([1])], "array([1])"),
    "float": (lambda: [1.0], "1.0"),
    "floats of numpy": (lambda: np.array([0.5]), "0.5"),
    "bool": (lambda: [True, 2], "True"),
    "mask": (lambda: np.array([True]), "True"),
    "masked": (lambda: np.ma.array([1, 2], mask=[0, 1]), "None"),
    "missing": (lambda: [1, None], "None"),
    "mixed": (lambda: [1, "a"], "'a'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_values_are_refused(face: Callable[..., Tokenizer], name: str) -> None:
    value, seen = REFUSED[name]
    with pytest.raises(TokbenchError) as error:
        face(lambda text: value()).encode("a")
    assert "mine.py:tokenizer: encode returned " + seen in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("value", "seen"), [(-1, "-1"), (10, "10"), (1 << 80, str(1 << 80))])
def test_ids_are_below_the_size(face: Callable[..., Tokenizer], value: int, seen: str) -> None:
    tokenizer = face(lambda text: [3, value], size=10)
    with pytest.raises(TokbenchError, match=f"mine.py:tokenizer: encode returned the id {seen}; ids are 0 to 9"):
        tokenizer.encode("a")


@pytest.mark.parametrize("value", [5, None, [98], 0.5, np.array([1]), [b"a"]])
def test_decode_returns_text(face: Callable[..., Tokenizer], value: Any) -> None:
    """``bytes(5)`` would be five NUL bytes."""
    tokenizer = face(lambda text: [1], lambda ids: value)
    with pytest.raises(TokbenchError, match=r"mine.py:tokenizer: decode returned .*; return str or bytes"):
        tokenizer.decode([1])
    assert face(lambda text: [1], lambda ids: "é").decode([1]) == "é".encode()
    assert face(lambda text: [1], lambda ids: bytearray(b"a")).decode([1]) == b"a"


class Stop(BaseException):
    pass


@pytest.mark.parametrize(
    ("error", "seen"),
    [
        (SystemExit(0), "SystemExit: 0"),
        (SystemExit(), "SystemExit"),
        (Stop("now"), "Stop: now"),
        (KeyError("a"), "KeyError: 'a'"),
        (GeneratorExit(), "GeneratorExit"),
        (ValueError("two\nlines"), "ValueError: two lines"),
    ],
)
def test_exceptions_are_one_line(face: Callable[..., Tokenizer], error: BaseException, seen: str) -> None:
    def fail(value: Any) -> Any:
        raise error

    for call in (lambda: face(fail).encode("a"), lambda: face(lambda text: [1], fail).decode([1])):
        with pytest.raises(TokbenchError) as line:
            call()
        assert f"code raised {seen}; correct it" in str(line.value)
        assert "\n" not in str(line.value)
        assert line.value.__cause__ is error


def test_exceptions_while_values_are_read(face: Callable[..., Tokenizer]) -> None:
    for value, seen in ((Lazy, "no ids"), (failing, "no more")):
        with pytest.raises(TokbenchError, match=f"encode raised RuntimeError: {seen}"):
            face(lambda text, value=value: value()).encode("a")


def test_interrupts_and_signals_pass(face: Callable[..., Tokenizer]) -> None:
    from tokbench.io.output_place import ended_by_sigterm

    def interrupted(text: str) -> list[int]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        face(interrupted).encode("a")

    def ended(text: str) -> list[int]:
        os.kill(os.getpid(), signal.SIGTERM)
        return [1]

    tokenizer = face(lambda text: ended(text) if text == "end" else [1])
    handler = signal.signal(signal.SIGTERM, signal.SIG_DFL)  # Other libraries in this process may have set one.
    try:
        with pytest.raises(SystemExit) as status, ended_by_sigterm():
            tokenizer.encode("end")
    finally:
        signal.signal(signal.SIGTERM, handler)
    assert status.value.code == 128 + signal.SIGTERM


def test_a_new_tokenizer_decodes(face: Callable[..., Tokenizer]) -> None:
    """Nothing was encoded before: any id below the largest allowed one may be decoded."""
    assert face(lambda text: [1], lambda ids: "ab").decode([1]) == b"ab"
    with pytest.raises(TokbenchError, match="has no decode"):
        face(lambda text: [1]).decode([1])
    with pytest.raises(TokbenchError, match=r"id -1 is not in the vocabulary \(0 to [1-9]"):
        face(lambda text: [1], lambda ids: "ab").decode([-1])


def test_pieces_have_ids_below_the_size() -> None:
    letters = library.wrap(list, name="letters", size=2)
    assert letters.encode("abba").tolist() == [0, 1, 1, 0]
    for again in (letters, copy.copy(letters), pickle.loads(pickle.dumps(letters))):
        assert again.decode([1, 0]) == b"ba"
        with pytest.raises(TokbenchError, match="letters: encode returned more than 2 different pieces"):
            again.encode("abc")
    with pytest.raises(TokbenchError, match=r"id 2 is not in the vocabulary \(0 to 1\)"):
        letters.decode([2])


@pytest.mark.parametrize(
    ("content", "seen"),
    [
        ("import sys\ndef own(text): sys.exit(0)\n", "encode raised SystemExit: 0; correct it"),
        ("import numpy\ndef own(text): return numpy.array(5)\n", "encode returned array(5); return "),
        ("def own(text): return {1, 2}\n", "encode returned {1, 2}; return "),
        (
            "class own:\n    def encode(self, text): return [1]\n    @property\n    def vocab_size(self): 1 / 0\n",
            "vocab_size raised ZeroDivisionError: division by zero; correct it",
        ),
        (
            "class own:\n    def encode(self, text): return [1]\n    def vocab_size(self): return 2.5\n",
            "vocab_size 2.5: must be a whole number",
        ),
        ("class own:\n    @property\n    def encode(self): 1 / 0\n", "the attribute encode raised ZeroDivisionError"),
        ("class own:\n    def __init__(self): raise SystemExit\n", "a call without arguments raised SystemExit"),
        ("class own:\n    def __init__(self, a): pass\n", "a call without arguments raised TypeError"),
    ],
)
def test_commands_end_with_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tokbench: Tokbench, content: str, seen: str
) -> None:
    """A function cannot end a command with status 0, and none of its mistakes is a bug in Tokbench."""
    monkeypatch.setenv(TRUSTED, "")
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(content + "def good(text): return [1]\n")
    Path("text.txt").write_text("some text\n")
    for command in (
        ("encode", "mine.py:own", "text.txt"),
        ("compare", "mine.py:own", "mine.py:good", "text.txt"),
        ("compare", "mine.py:good", "mine.py:own", "text.txt"),
        ("show", "mine.py:own", "some text"),
        ("import", "mine.py:own", "--from", "python", "-o", "own"),
    ):
        outcome = tokbench(*command)
        assert (outcome.status, outcome.stderr.count("\n")) == (2, 1), outcome.stderr
        assert f"mine.py:own: {seen}" in outcome.stderr


def test_there_is_one_class() -> None:
    """Both faces check the values of functions in one place."""
    wrapped: Any = library.wrap(str.split)
    assert type(wrapped.library) is PythonTokenizer
    assert PythonTokenizer.__module__ == python_functions.__name__


def test_many_ids_are_checked_fast() -> None:
    ids: NDArray[np.int64] = np.arange(100_000)
    assert len(PythonTokenizer("mine", lambda text: ids.tolist()).encode("a")) == 100_000
