"""Agreement of Unigram vocabularies with those of Hugging Face ``tokenizers`` and of SentencePiece.

Both libraries train on the text. ``tokenizers`` uses its byte-level pre-tokenizer. SentencePiece reads paragraphs
(lines joined by a space) without normalisation; for it, the end of a line is the end of a word, unlike in word counts.
Bytes that are missing in their vocabulary score 10 nats below the least likely token.
"""

import io
import json
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import regex
from numpy.typing import NDArray

from tokbench.construction.unigram import UNSEEN_PENALTY, UnigramOptions, build
from tokbench.kernels.trie import Trie
from tokbench.kernels.unigram import count_best, expect
from tokbench.pretokens import PretokenCounts
from tokbench.tokenizer.hugging_face import PRINTABLE
from tokbench.vocabulary import BYTES

GPT2 = regex.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
BLANK_LINE = regex.compile(r"\n\s*\n")
WORD = regex.compile(r" [^ ]*|[^ ]+")

TOKENIZERS = UnigramOptions(whole_characters=False, pruning_loss="tokenizers")
SENTENCEPIECE = UnigramOptions(
    alphabet="character",
    seed_counts="occurrences",
    split_by_unicode_script=True,
    split_by_whitespace=True,
    final_cut="score",
)

Scores = dict[bytes, float]


class Agreement(NamedTuple):
    """Agreement of our vocabulary with theirs.

    Attributes:
        longer: number of our tokens longer than one byte.
        shared: share of these in their vocabulary.
        likelihood: log-likelihood of the text under ours divided by theirs, minus 1; negative if ours is likelier.
        tokens: number of tokens of the text in ours divided by theirs, minus 1.
    """

    longer: int
    shared: float
    likelihood: float
    tokens: float


def lines_of(documents: Iterable[str]) -> list[str]:
    """Return the non-empty lines of the documents."""
    return [line for document in documents for line in document.split("\n") if line]


def paragraphs_of(documents: Iterable[str]) -> list[str]:
    """Return the paragraphs of the documents (separated by blank lines), with lines joined by a space."""
    paragraphs = (paragraph for document in documents for paragraph in BLANK_LINE.split(document))
    return [" ".join(lines_of([paragraph])) for paragraph in paragraphs if paragraph.strip()]


def counted(texts: Iterable[str], pattern: regex.Pattern[str]) -> PretokenCounts:
    """Count the pre-tokens of the texts by a pattern."""
    found: Counter[str] = Counter()
    for text in texts:
        found.update(pattern.findall(text))
    return PretokenCounts.from_pairs((pretoken.encode(), count) for pretoken, count in found.items())


def train_tokenizers(documents: Iterable[str], size: int) -> Scores:
    """Train with Hugging Face; return tokens and scores at ``size`` tokens, including all 256 bytes."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    printable = sorted(pre_tokenizers.ByteLevel.alphabet())
    bytes_of = dict(zip(printable, (*PRINTABLE, *(byte for byte in range(256) if byte not in PRINTABLE)), strict=True))
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.UnigramTrainer(
        vocab_size=size + 1, initial_alphabet=printable, unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(documents, trainer)
    vocabulary = json.loads(tokenizer.to_str())["model"]["vocab"]
    return {bytes(bytes_of[letter] for letter in token): score for token, score in vocabulary if token != "<unk>"}


def train_sentencepiece(lines: Iterable[str], size: int) -> Scores:
    """Train with SentencePiece; return pieces and scores at ``size`` pieces, without control pieces."""
    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        vocab_size=size,
        model_type="unigram",
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        add_dummy_prefix=False,
        max_sentence_length=10**8,
        num_threads=1,
        minloglevel=2,
    )
    trained = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    kept = (index for index in range(len(trained)) if not trained.is_control(index) and not trained.is_unknown(index))
    return {trained.id_to_piece(index).replace("\u2581", " ").encode(): trained.get_score(index) for index in kept}


def with_ours(counts: PretokenCounts, size: int, options: UnigramOptions, threads: int = 1) -> Scores:
    """Build with Tokbench; return tokens and scores."""
    vocabulary = build(counts, size, options, threads=threads)
    assert vocabulary.scores is not None
    return dict(zip(vocabulary.tokens, vocabulary.scores.tolist(), strict=True))


def evaluate(counts: PretokenCounts, scores: Scores, unseen: float) -> tuple[float, int]:
    """Return the log-likelihood of the text in nats over all segmentations, and the tokens of the best one.

    Bytes that are not tokens have the score ``unseen``.
    """
    tokens = [*BYTES, *sorted(token for token in scores if len(token) > 1)]
    values = np.array([scores.get(token, unseen) for token in tokens])
    data = np.frombuffer(b"".join(tokens), np.uint8)
    offsets: NDArray[np.int64] = np.cumsum([0, *map(len, tokens)]).astype(np.int64)
    trie = Trie(data, offsets)
    text = (counts.data, counts.offsets, counts.counts, 0, len(counts))
    occurrences = np.zeros(len(tokens), np.int64)
    count_best(trie, values, *text, occurrences)
    return expect(trie, np.exp(values), *text, np.zeros(len(tokens))), int(occurrences.sum())


def compare(counts: PretokenCounts, ours: Scores, theirs: Scores) -> Agreement:
    """Compare our vocabulary with theirs on the text."""
    longer = {token for token in ours if len(token) > 1}
    ranked = sorted((token for token in theirs if len(token) > 1), key=lambda token: -theirs[token])
    chosen = set(ranked[: len(longer)])
    ours = {token: score for token, score in ours.items() if token in longer or token in theirs}
    theirs = {token: score for token, score in theirs.items() if token in chosen or len(token) == 1}
    unseen = min(*ours.values(), *theirs.values()) - UNSEEN_PENALTY
    our_likelihood, our_tokens = evaluate(counts, ours, unseen)
    their_likelihood, their_tokens = evaluate(counts, theirs, unseen)
    shared = len(longer & chosen) / max(len(longer), 1)
    return Agreement(len(longer), shared, our_likelihood / their_likelihood - 1, our_tokens / their_tokens - 1)
