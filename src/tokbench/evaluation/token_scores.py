"""Log-probabilities of tokens on both sides of the end of a ranked vocabulary.

The outcome of Lesci, Meister, Hofmann, Vlachos and Pimentel, "Causal Estimation of Tokenisation Bias" (2025), for
:mod:`tokbench.statistics.effects.token_effects`. A construction ranks tokens, and a vocabulary of K tokens has the
first K. A longer vocabulary of the same construction has more. Text is segmented by the longer vocabulary, which
decides where a token occurs, in the same way on both sides of K. The model segments the text by its own vocabulary. An
occurrence is scored if the model's tokens begin and end at its ends. Its score is the log-probability of the model's
tokens: of one token if it is in the vocabulary, otherwise the sum over its parts.
"""

import importlib.metadata
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.evaluation.language_model import check_device, check_model_folder, open_model, window_of
from tokbench.io.identity import Maker, TextDigest, made_from, model_digest, require_model
from tokbench.io.json import write_result
from tokbench.vocabulary import Vocabulary

if TYPE_CHECKING:
    from tokbench.evaluation.bits_per_byte import Window, WindowCutter
    from tokbench.tokenizer import Tokenizer

DECIMALS = 6
"""Decimals of the written sums, in bits."""
TRAINED_WITH = "score the model with the tokenizer that it was trained with"
PACKAGES = ("tokbench", "torch", "transformers")


@dataclass(frozen=True, slots=True)
class RankedTokens:
    """Tokens of a longer vocabulary in order of rank.

    Attributes:
        ids: int64 [tokens], ids in the longer vocabulary.
        ranks: int64 [tokens], consecutive. The last token of the shorter vocabulary has -1, the first outside it 0.
    """

    ids: NDArray[np.int64]
    ranks: NDArray[np.int64]

    def within(self, reach: int) -> "RankedTokens":
        """Return the ``reach`` tokens on each side of the end of the shorter vocabulary."""
        near = (self.ranks >= -reach) & (self.ranks < reach)
        return RankedTokens(self.ids[near], self.ranks[near])


def ranked_tokens(shorter: Vocabulary, longer: Vocabulary) -> RankedTokens:
    """Rank the tokens of a longer vocabulary by their order of addition.

    Single bytes have no rank, because they are in every vocabulary. Nor has a token that the longer vocabulary's
    history (:attr:`tokbench.vocabulary.Vocabulary.events`) removes at any time, even if it is restored: it has no
    single place in the order of addition.

    Args:
        shorter: the vocabulary of the model.
        longer: a larger vocabulary of the same construction and text.

    Raises:
        TokbenchError: the shorter vocabulary is not the beginning of the longer one, or is not smaller.
    """
    removed = {event.token for event in longer.events or () if event.split}
    known = set(_forms(shorter))
    forms = _forms(longer)
    ids = [number for number, (token, _) in enumerate(forms) if len(token) > 1 and token not in removed]
    inside = [forms[number] in known for number in ids]
    count = sum(inside)
    gone = [token for token, _ in known.difference(forms) if token not in removed]
    wrong = gone or [forms[number][0] for number, known_ in zip(ids, inside, strict=True) if not known_][:1] * (
        not all(inside[:count])
    )
    if wrong:
        raise TokbenchError(
            f"the {len(shorter):,} tokens of a vocabulary are not the first of {len(longer):,} (token "
            f"{wrong[0].hex()}); a causal effect needs a construction that ranks its tokens"
        )
    if count == len(ids):
        raise TokbenchError(
            f"a vocabulary of {len(longer):,} tokens adds none to {len(shorter):,}; build a longer one from more text"
        )
    return RankedTokens(np.array(ids, np.int64), np.arange(len(ids), dtype=np.int64) - count)


def _forms(vocabulary: Vocabulary) -> list[tuple[bytes, bool]]:
    """Return bytes of each token, and True for a token that matches only inside a pre-token."""
    inside = vocabulary.continuation
    flags = [False] * len(vocabulary) if inside is None else inside.tolist()
    return list(zip(vocabulary.tokens, flags, strict=True))


@dataclass(frozen=True, slots=True)
class TokenScores:
    """Sums over the occurrences of every token of a longer vocabulary.

    Attributes:
        occurrences: int64 [vocabulary], occurrences in the text.
        scored: int64 [vocabulary], those that the model's tokens begin and end with.
        parts: int64 [vocabulary], the model's tokens in the scored occurrences.
        bits: float64 [vocabulary], summed log-probability of the scored occurrences, in bits (at most 0).
    """

    occurrences: NDArray[np.int64]
    scored: NDArray[np.int64]
    parts: NDArray[np.int64]
    bits: NDArray[np.float64]

    def add(
        self,
        ids: NDArray[np.int64],
        ends: NDArray[np.int64],
        model_ends: NDArray[np.int64],
        nats: NDArray[np.float64],
        inside: NDArray[np.bool_],
    ) -> None:
        """Add the occurrences in one document.

        Args:
            ids: int64 [tokens], the document segmented by the longer vocabulary.
            ends: int64 [tokens], byte offset of the end of each.
            model_ends: int64 [model's tokens], byte offset of the end of each of the model's tokens.
            nats: float64 [model's tokens], their surprisals.
            inside: bool [vocabulary], True for the tokens of the model's vocabulary. They are scored only where the
                model's segmentation has them.
        """
        borders = np.concatenate([[0], model_ends])
        starts = np.concatenate([[0], ends[:-1]])
        first, last = np.searchsorted(borders, starts), np.searchsorted(borders, ends)
        fits = (borders[first] == starts) & (borders[last] == ends) & (~inside[ids] | (last - first == 1))
        totals = np.concatenate([[0.0], np.cumsum(nats)])
        np.add.at(self.occurrences, ids, 1)
        np.add.at(self.scored, ids[fits], 1)
        np.add.at(self.parts, ids[fits], (last - first)[fits])
        np.add.at(self.bits, ids[fits], (totals[first[fits]] - totals[last[fits]]) / math.log(2))


def score_occurrences(
    surprisals: Callable[[Sequence["Window"]], list[NDArray[np.float64]]],
    shorter: "Tokenizer",
    longer: "Tokenizer",
    inside: NDArray[np.bool_],
    documents: Iterable[bytes],
    *,
    cut: "WindowCutter",
    batch_size: int,
) -> TokenScores:
    """Score every occurrence of every token of the longer vocabulary in some documents.

    Args:
        surprisals: function from windows to the nats of each one's targets, float64.
        shorter: tokenizer of the model.
        longer: tokenizer of the same variant with a longer vocabulary.
        inside: bool [longer's vocabulary], True for tokens of the model's vocabulary.
        documents: texts. Empty ones add nothing.
        cut: function that splits a document's sequence, including the start token, into windows.
        batch_size: windows per batch.
    """
    rows = len(longer)
    occurrences, scored, parts = np.zeros((3, rows), np.int64)
    scores = TokenScores(occurrences, scored, parts, np.zeros(rows))
    lengths, model_lengths = (
        np.array([len(token) for token in tokenizer.vocabulary.by_id]) for tokenizer in (longer, shorter)
    )
    for document in documents:
        own, ids = shorter.encode(document), longer.encode(document).astype(np.int64)
        windows = list(cut([shorter.end_of_text, *own.tolist()]))
        batches = [windows[first : first + batch_size] for first in range(0, len(windows), batch_size)]
        nats = [part for batch in batches for part in surprisals(batch)]
        if len(ids):
            ends, model_ends = lengths[ids].cumsum(), model_lengths[own].cumsum()
            scores.add(ids, ends, model_ends, np.concatenate(nats), inside)
    return scores


def score_tokens(
    model_folder: Path | str,
    tokenizer_folder: Path | str,
    longer_folder: Path | str,
    output: Path | str,
    documents: Iterable[bytes],
    *,
    reach: int,
    document_bytes: int | None = None,
    names: dict[str, Any] | None = None,
    batch_size: int = 16,
    device: str = "cpu",
) -> None:
    """Score the tokens around the end of a model's vocabulary and write them as one JSON file.

    Documents are read in windows of the model's ``max_seq_len`` tokens that move by half their length, as for bits per
    byte. The file contains for each token within ``reach`` its ``rank`` (see :class:`RankedTokens`), its bytes in
    hexadecimal (``token``), and ``occurrences``, ``scored`` and ``bits`` of :class:`TokenScores`. ``uniform_bits`` are
    the bits if the model gave each row of its embedding matrix the same probability, as before training. Everything but
    ``manifest`` is equal from run to run on the same device.

    Args:
        model_folder: a Hugging Face causal language model with the tokenizer's vocabulary.
        tokenizer_folder: the tokenizer that the model was trained with.
        longer_folder: a tokenizer of the same variant with a longer vocabulary.
        output: the JSON file, written atomically.
        documents: texts that neither the model nor the tokenizer was made from.
        reach: number of tokens on each side of the end of the vocabulary.
        document_bytes: bytes of each document to read, from the start. Default: None, all.
        names: names of this result in tables (model, variant, size, corpus). Default: None.
        batch_size: sequences per batch. Default: 16.
        device: a torch device, or ``auto`` for a GPU if there is one. Default: ``cpu``.

    Raises:
        TokbenchError: a folder is missing, the vocabularies are not ranked (see :func:`ranked_tokens`), the model does
            not fit the tokenizer, or the device does not exist.
    """
    began = time.time()
    model_folder = Path(model_folder)
    check_model_folder(model_folder)
    from tokbench.evaluation.bits_per_byte import TokenWindows, window_surprisals
    from tokbench.tokenizer import Tokenizer
    from tokbench.tokenizer.encoder import leading_text

    # Tokenizers and model, which must belong together.
    device = check_device(device)
    shorter, longer = Tokenizer.load(tokenizer_folder), Tokenizer.load(longer_folder)
    require_model(model_folder, "tokenizer", Maker(shorter.digest, tokenizer_folder), TRAINED_WITH)
    near = ranked_tokens(shorter.vocabulary, longer.vocabulary).within(reach)
    model = open_model(model_folder, device)
    if model.config.vocab_size <= shorter.end_of_text:
        raise TokbenchError(
            f"{model_folder}: vocabulary of {model.config.vocab_size}, but {tokenizer_folder} has "
            f"{shorter.end_of_text + 1} tokens; {TRAINED_WITH}"
        )

    # Occurrences of all tokens of the longer vocabulary in the documents.
    window = window_of(model)
    known, text = set(_forms(shorter.vocabulary)), TextDigest()
    read = text.watched(documents, lambda document: document)
    scores = score_occurrences(
        lambda batch: [part.numpy() for part in window_surprisals(model, batch, device)],
        shorter,
        longer,
        np.array([form in known for form in _forms(longer.vocabulary)]),
        (leading_text(document, document_bytes) if document_bytes else document for document in read),
        cut=TokenWindows(window, max(1, window // 2)),
        batch_size=batch_size,
    )
    if not scores.scored.any():
        raise TokbenchError("score_tokens: the evaluation split has no text; pass documents")

    # The table of scored tokens, with a list for each column.
    content = {
        **(names or {}),
        "reach": reach,
        "longer": longer.nominal_size,
        "rank": near.ranks.tolist(),
        "token": [longer.vocabulary.tokens[number].hex() for number in near.ids.tolist()],
        "occurrences": scores.occurrences[near.ids].tolist(),
        "scored": scores.scored[near.ids].tolist(),
        "bits": [round(value, DECIMALS) for value in scores.bits[near.ids].tolist()],
        "uniform_bits": [
            round(-value * math.log2(model.config.vocab_size), DECIMALS) for value in scores.parts[near.ids].tolist()
        ],
        **made_from(
            tokenizer=shorter.digest,
            longer_tokenizer=longer.digest,
            model=model_digest(model_folder),
            text=text.hexdigest(),
        ),
        "versions": {name: importlib.metadata.version(name) for name in PACKAGES},
        "manifest": {
            "model": str(model_folder),
            "tokenizer": str(tokenizer_folder),
            "longer": str(longer_folder),
            "document_bytes": document_bytes,
            "batch_size": batch_size,
            "device": device,
            "seconds": round(time.time() - began, 3),
        },
    }
    write_result(output, content)
