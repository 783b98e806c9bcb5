"""``AutoTokenizer`` on the saved folder of every kind of tokenizer: the ids of Tokbench, or one line with the reason.

The kinds are those of the registries: every construction with its own segmentation, every segmentation, and every form
of an external tokenizer. A kind that is new is tested without a change here, except a form, which needs a file.
"""

from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.test_hub_folders import WORDS
from tests.adapters.test_native import FILES, MODEL, MODELS, byte_level, characters
from tests.conftest import ODD, TOPICS
from tests.support import library_tokenizers as made
from tests.support.external_tokenizers import TEXT, few, read  # noqa: F401
from tests.support.pipeline import combinations
from tests.support.small_vocabularies import vocabulary
from tests.support.texts import Strings
from tokbench.adapters.forms import FORMS
from tokbench.adapters.probes import probes
from tokbench.construction import constructions
from tokbench.errors import TokbenchError
from tokbench.segmentation import segmentations
from tokbench.tokenizer import Tokenizer

if find_spec("transformers") is None:
    pytest.skip("transformers is not installed", allow_module_level=True)

STRINGS = 150
"""Difficult strings for each tokenizer, made from its own tokens among others."""


def texts_for(tokenizer: Tokenizer) -> list[str]:
    """Return difficult texts; the bytes and names of all ids of the tokenizer are in them."""
    made_of = tokenizer.vocabulary
    named = [*made_of.special.values(), *made_of.unused.values(), *made_of.tokens]
    strings = Strings(named, b"".join(TOPICS) + ODD, seed=len(named))
    drawn = [string.decode("utf-8", "ignore") for string in islice(strings, STRINGS)]
    spelt = [name.decode("utf-8", "ignore") for name in named]
    groups = ["".join(f"a{name} {name}b" for name in spelt[start : start + 50]) for start in range(0, len(spelt), 50)]
    return [TEXT, *made.TEXTS[:2], *(probe.decode() for probe in probes()[::29]), *drawn, *groups]


def check_folder(tokenizer: Tokenizer, folder: Path) -> None:
    """Save a tokenizer and compare the ids of ``AutoTokenizer``; names of special tokens have their ids there."""
    from transformers import AutoTokenizer

    tokenizer.save(folder)
    if tokenizer.library_name:
        with pytest.raises(TokbenchError) as rejection:
            AutoTokenizer.from_pretrained(folder)
        line = f"{folder}: the tokenizer works through {tokenizer.library_name}, which AutoTokenizer does not call; "
        assert str(rejection.value).startswith(line)
        assert "\n" not in str(rejection.value)
        return
    opened = AutoTokenizer.from_pretrained(folder)
    texts = texts_for(tokenizer)
    ids = [one.tolist() for one in tokenizer.encode_batch(texts)]
    assert opened(texts, split_special_tokens=True)["input_ids"] == ids
    names = opened.all_special_tokens
    plain = [text for text in texts if not any(name in text for name in names)]
    assert len(plain) > STRINGS / 2
    assert opened(plain)["input_ids"] == [one.tolist() for one in tokenizer.encode_batch(plain)]
    for name in names:
        assert opened(name)["input_ids"] == [opened.convert_tokens_to_ids(name)]


def pairs() -> list[tuple[str, str]]:
    """Return every construction with its own segmentation, and every other segmentation with one construction."""
    own = [(method.name, method.segmentation) for method in constructions.methods()]
    others: Mapping[str, tuple[str, str]] = {cut: (method, cut) for method, cut in combinations()}
    return [*own, *(others[cut] for cut in segmentations if cut not in dict(map(reversed, own)))]


@pytest.mark.parametrize(("method", "segmentation"), pairs())
def test_built_tokenizers_have_equal_ids(method: str, segmentation: str, scores: Path, tmp_path: Path) -> None:
    check_folder(Tokenizer(vocabulary(method, "gpt2", scores), "gpt2", segmentation), tmp_path / "saved")


@cache
def ranks() -> bytes:
    return made.tiktoken_file(made.ranks())


def with_blank_tokens() -> dict[str, Any]:
    """Byte fallback whose bytes of ASCII and runs of blanks are never used."""
    values = characters(None)
    values["model"]["vocab"]["\u2581\u2581\u2581\u2581\u2581\u2581\u2581"] = 5000
    return values


MAKERS: dict[str, dict[str, tuple[str, Callable[[], Any], dict[str, Any]]]] = {
    "tokenizer_json": {
        **{kind: ("tokenizer.json", make, {}) for kind, (make, _, _) in FILES.items()},
        "unused": ("tokenizer.json", with_blank_tokens, {}),
        "whole": ("tokenizer.json", lambda: byte_level(model=byte_level()["model"] | {"ignore_merges": True}), {}),
        "unigram": ("tokenizer.json", made.byte_unigram, {}),
        "bert": ("tokenizer.json", made.bert, {}),
        "metaspace_unigram": ("tokenizer.json", made.metaspace, {}),
    },
    "tiktoken": {"ranks": ("a.tiktoken", ranks, {"pattern": "cl100k", "special_tokens": {"<|end|>": 5000}})},
    "tekken": {"tekken": ("tekken.json", lambda: made.tekken(made.ranks()), {})},
    "sentencepiece": {
        **{
            kind: ("a.model", lambda kind=kind: made.sentencepiece_model(**(MODEL | MODELS[kind])), {"added": "tokens"})
            for kind in MODELS
        },
        "unigram": ("a.model", made.sentencepiece_model, {}),
    },
    "tokens": {
        "tokens": (
            "tokens.txt",
            lambda: "\n".join(token.hex() for token in made.ranks()),
            {"pattern": "gpt2", "segmentation": "greedy"},
        )
    },
    "merges": {
        "merges": ("merges.txt", lambda: "\n".join(" ".join(pair) for pair in byte_level()["model"]["merges"]), {})
    },
    "wordpiece": {"vocab": ("vocab.txt", lambda: WORDS, {})},
    "transformers": {"folder": ("model/tokenizer.json", byte_level, {})},
    "python": {"function": ("letters.py", lambda: "def encode(text):\n    return list(text.encode())\n", {})},
}
"""Files of every form: name, content and options."""


def test_every_form_is_tested() -> None:
    assert set(MAKERS) == set(FORMS)


@pytest.mark.parametrize(("form", "kind"), [(form, kind) for form, kinds in MAKERS.items() for kind in kinds])
def test_external_tokenizers_have_equal_ids(
    form: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, make, options = MAKERS[form][kind]
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    made.written(file, make())
    source = {"transformers": file.parent, "python": f"{file}:encode"}.get(form, file)
    check_folder(read(source, form, **options), tmp_path / "saved")
