"""Makers of result files: each is of the tokenizers and the model that are tabulated, and of one text by corpus."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from tokbench.io.identity import Maker, Role, makers_in, model_digest, require_same
from tokbench.io.json import read_result
from tokbench.tabulation.gathered import Gathered
from tokbench.tabulation.reading import AGAIN, require_key, run_of, size_of

TOKENIZERS = ("tokenizer", "source_tokenizer", "target_tokenizer")
"""Roles that every result with a tokenizer of that side names."""
Subjects = dict[Role, tuple[Any, ...]]
"""By role, the subject that has one maker in all results: a tokenizer, a model with its tokenizers, or a text."""


def check_makers(gathered: Gathered) -> None:
    """Check that results are of the tokenizers, models and texts that they are tabulated with.

    Results of a tokenizer or a model whose folder is not given are compared with each other, as are those of a text.

    Raises:
        TokbenchError: a result is of another tokenizer, model or text than its name says, or does not name its
            tokenizer; the message names it and the other file.
    """
    known: dict[tuple[Any, ...], Maker] = {}
    for key, (folder, tokenizer) in gathered.loaded.items():
        known["tokenizer", *key] = Maker(tokenizer.digest, folder)
    for model in map(Path, gathered.named("model")):
        known["model", *run_of(model, gathered.own_sizes)] = Maker(model_digest(model), model)
    for path, content, subjects in _results(gathered):
        makers = makers_in(content)
        for role, subject in subjects.items():
            if role in makers or role in TOKENIZERS:
                maker = known.setdefault(subject, Maker(makers.get(role, ""), path))
                require_same(path, makers, role, maker, AGAIN)


def _results(gathered: Gathered) -> Iterator[tuple[Path | str, Mapping[str, Any], Subjects]]:
    """Yield each result with its subjects. They are read one at a time, as all may not fit into memory."""
    # Results of a tokenizer, some of them with a model.
    own_sizes = gathered.own_sizes
    of_models = gathered.named("downstream", "token_scores")
    others = gathered.named("tokens", "words", "ngram_bits", "robustness", "domain_measurements")
    of_tokenizers = [*gathered.measurements, *others]
    for path in (*of_tokenizers, *of_models, *gathered.named("convergence")):
        content = read_result(path, AGAIN, lenient=True)
        variant, corpus = require_key(content, "variant", path), content.get("corpus", "")
        key = variant, size_of(path, require_key(content, "size", path), variant, own_sizes)
        subjects: Subjects = {"tokenizer": ("tokenizer", *key)}
        subjects |= {role: (role, corpus) for role in cast(tuple[Role, ...], ("text", "training_text"))}
        if path in of_models:
            subjects["model"] = "model", require_key(content, "model", path), *key
        yield path, content, subjects
    # Results that are named by their folders, or have a tokenizer on each side.
    for folder in map(Path, gathered.named("embeddings")):
        file = folder / "measurements.json"
        yield file, read_result(file, AGAIN, lenient=True), {"model": ("model", *run_of(folder, own_sizes))}
    for file in map(Path, gathered.named("bound")):
        yield file, read_result(file, AGAIN), {"text": ("text", file.parts[-3])}
    for path in gathered.named("translation"):
        content = read_result(path, AGAIN)
        size, *of = (require_key(content, name, path) for name in ("size", "source_variant", "target_variant"))
        test = (require_key(content, name, path) for name in ("parallel", "test", "source_language", "target_language"))
        yield path, content, {**_sides(of, size, own_sizes), "text": ("translated", *test)}
    for folder in map(Path, gathered.named("translation_embeddings")):
        file, (*of, size) = folder / "measurements.json", folder.parts[-3:]
        yield file, read_result(file, AGAIN), _sides(of, size, own_sizes)


def _sides(variants: list[str], size: int | str, own_sizes: Mapping[str, int]) -> Subjects:
    """Return the tokenizers of a translation model by role; that of an external tokenizer has its own size."""
    sizes = [own_sizes.get(variant, size) for variant in variants]
    return {
        role: ("tokenizer", variant, int(size_of_side))
        for role, variant, size_of_side in zip(cast(tuple[Role, ...], TOKENIZERS[1:]), variants, sizes, strict=True)
    }
