"""Translations as a configuration asks for them: which models and tests, by which tokenizers, and mistakes."""

import json
import re
from types import SimpleNamespace
from typing import Any

import pytest

from tokbench.config.load import validate
from tokbench.errors import TokbenchError
from tokbench.workflow.translation import Translations

CONFIGURED: dict[str, Any] = {
    "name": "pairs",
    "parallel_corpora": {
        "news": {
            "languages": ["en", "de"],
            "train": {"type": "lines", "path": {"en": __file__, "de": __file__}},
            "tests": {"one": 5, "two": 5},
        }
    },
    "corpora": {"both": {"source": {"type": "parallel", "corpus": "news"}}},
    "variants": {name: {"pretokenization": "gpt2", "construction": "bpe"} for name in ("bpe", "other")},
    "sizes": [300, 400],
    "translation_models": {"small": "tiny"},
    "translations": [
        {
            "corpora": ["news"], "source": "de", "target": "en", "models": ["small"], "sizes": [300],
            "tokenizers": ["bpe", {"source": "bpe", "target": "other"}], "bleu_words": "intl",
        }
    ],
}  # fmt: skip


def test_the_workflow_asks_for_every_model_on_every_test() -> None:
    asked = Translations(validate(CONFIGURED, "here"))
    ways = ["small/news/de/en/bpe/bpe/300", "small/news/de/en/bpe/other/300"]
    assert [f"{one.path}/{one.test}" for one in asked.tested] == [
        f"{way}/{test}" for way in ways for test in ("one", "two")
    ]
    names = ("model", "parallel", "source", "target", "variant", "target_variant", "size")
    wildcards = SimpleNamespace(**dict(zip(names, ways[1].split("/"), strict=True)))
    assert asked.scoring(wildcards) == ["--tokenize", "intl"]
    assert json.loads(asked.training_recipe(wildcards))["beam"] == 5
    assert json.loads(asked.recipe(wildcards))["beam"] == 2
    given = SimpleNamespace(corpus="nowhere")
    assert asked.memory(wildcards, given, 2) == 2 * asked.memory(wildcards, given, 1)


def test_a_side_may_be_cut_by_a_tokenizer_made_elsewhere() -> None:
    """It has its own size, whatever that of the other side; where both were made elsewhere, so is their path."""
    pairs = ["given", {"source": "bpe", "target": "given"}, {"source": "given", "target": "bpe"}]
    values = CONFIGURED | {
        "variants": CONFIGURED["variants"] | {"given": {"from": "sentencepiece", "path": __file__}},
        "translations": [CONFIGURED["translations"][0] | {"tokenizers": pairs}],
    }
    asked = Translations(validate(values, "here"))
    ways = [one.path.removeprefix("small/news/de/en/") for one in asked.trained]
    assert ways == ["given/given/own", "bpe/given/300", "given/bpe/300"]
    found = []
    for one in asked.trained:
        wildcards = SimpleNamespace(**{name: str(value) for name, value in one._asdict().items()})
        found.append((asked.source_size(wildcards), asked.target_size(wildcards)))
        assert asked.memory(wildcards, SimpleNamespace(corpus="nowhere"), 1) > 1000
    assert found == [("own", "own"), ("300", "own"), ("own", "300")]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"corpora": ["nowhere"]}, "translations.0.corpora: 'nowhere' is not"),
        ({"models": ["large"]}, "translations.0.models: 'large' is not"),
        ({"target": "et"}, "'news' has en and de; name one as source and the other as target"),
        ({"tokenizers": ["bpee"]}, "translations.0.tokenizers: 'bpee' is not"),
        ({"sizes": [500]}, "translations.0.sizes: 'bpe' is not built at 500"),
    ],
)
def test_mistakes_in_translations_are_told(changed: dict[str, Any], told: str) -> None:
    values = CONFIGURED | {"translations": [CONFIGURED["translations"][0] | changed]}
    with pytest.raises(TokbenchError, match=re.escape(told)):
        validate(values, "here")
