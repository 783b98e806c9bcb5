"""How closely unigram vocabularies agree with those of Hugging Face ``tokenizers`` and of sentencepiece.

    python benchmarks/agreement_unigram.py novels.jsonl.gz --sizes 8192 32768

Both libraries are trained on the text itself. ``tokenizers`` cuts it with its byte-level pre-tokenizer, and ours starts
from the same pre-tokens. Sentencepiece reads sentences, without normalisation, and ours starts from words with the
space before them. Sentences are either the lines of the text or its paragraphs, lines joined by a space: sentencepiece
takes the end of a sentence for another way to go on than the space between words, so that a word which ends some line
becomes a seed; counts of words do not tell where lines end. Ours follows the trainer of
sentencepiece 0.2.1; that of 0.2.3 is another one.

Shown are the share of the tokens longer than a byte that both have, and the log-likelihood and the number of tokens of
the text under either vocabulary, by one and the same program. Bytes that theirs lacks score 10 nats below the least
likely token in both. Of sentencepiece's tokens, which include no such bytes, as many are taken as ours has.
"""

import argparse
import io
import json
import time
from collections import Counter
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
import regex
from numpy.typing import NDArray

from tokbench.byte_level import PRINTABLE
from tokbench.construction.unigram import UNSEEN_PENALTY, UnigramOptions, build
from tokbench.inputs.files import opened
from tokbench.kernels.trie import Trie
from tokbench.kernels.unigram import count_best, expect
from tokbench.pretokens import PretokenCounts
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
    """Ours against theirs.

    Attributes:
        longer: tokens longer than a byte, ours.
        shared: share of these that theirs has too.
        likelihood: log-likelihood of the text under ours over that under theirs, less one; below zero is likelier.
        tokens: tokens of the text in ours over those in theirs, less one.
    """

    longer: int
    shared: float
    likelihood: float
    tokens: float


def lines_of(documents: Iterable[str]) -> list[str]:
    """The lines of the documents, the empty ones left out."""
    return [line for document in documents for line in document.split("\n") if line]


def paragraphs_of(documents: Iterable[str]) -> list[str]:
    """The paragraphs of the documents, between blank lines, each with its lines joined by a space."""
    paragraphs = (paragraph for document in documents for paragraph in BLANK_LINE.split(document))
    return [" ".join(lines_of([paragraph])) for paragraph in paragraphs if paragraph.strip()]


def counted(texts: Iterable[str], pattern: regex.Pattern[str]) -> PretokenCounts:
    """Pre-tokens of the texts, by pattern."""
    found: Counter[str] = Counter()
    for text in texts:
        found.update(pattern.findall(text))
    return PretokenCounts.from_pairs((pretoken.encode(), count) for pretoken, count in found.items())


def train_tokenizers(documents: Iterable[str], size: int) -> Scores:
    """Tokens and scores of Hugging Face's trainer at ``size`` tokens, all 256 bytes among them."""
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
    """Pieces and scores of sentencepiece at ``size`` pieces, the control ones left out."""
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
    """Tokens and scores of our own construction."""
    vocabulary = build(counts, size, options, threads=threads)
    assert vocabulary.scores is not None
    return dict(zip(vocabulary.tokens, vocabulary.scores.tolist(), strict=True))


def evaluate(counts: PretokenCounts, scores: Scores, unseen: float) -> tuple[float, int]:
    """Log-likelihood of the text in nats, over all segmentations, and the tokens of the best one.

    Bytes that are not among the tokens have the score ``unseen``.
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
    """How ours agrees with theirs on the text."""
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


def show(name: str, size: int, seconds: tuple[float, float], agreement: Agreement) -> None:
    print(
        f"{name:<26}{size:>8}{agreement.shared:>10.2%}{agreement.likelihood:>+12.3%}{agreement.tokens:>+10.3%}"
        f"{seconds[0]:>10.2f}{seconds[1]:>10.1f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("text", type=Path, help="JSON Lines with the key text, plain or compressed")
    parser.add_argument("--sizes", type=int, nargs="+", default=[8192, 32768])
    arguments = parser.parse_args()
    with opened(arguments.text, "name a file of JSON Lines") as rows:
        documents = [json.loads(row)["text"] for row in rows]
    print("likelihood and tokens: ours against theirs; seconds of processor time: ours from counts, theirs from text")
    print(f"{'library':<26}{'size':>8}{'shared':>10}{'likelihood':>12}{'tokens':>10}{'ours, s':>10}{'theirs, s':>10}")
    for size in arguments.sizes:
        for name, text, pattern, options, train in (
            ("tokenizers", documents, GPT2, TOKENIZERS, train_tokenizers),
            ("sentencepiece, lines", lines_of(documents), WORD, SENTENCEPIECE, train_sentencepiece),
            ("sentencepiece, paragraphs", paragraphs_of(documents), WORD, SENTENCEPIECE, train_sentencepiece),
        ):
            if find_spec(name.partition(",")[0]) is None:
                print(f"{name:<26}{size:>8}  not installed")
                continue
            counts = counted(text, pattern)
            start = time.process_time()
            ours = with_ours(counts, size, options)
            middle = time.process_time()
            theirs = train(text, size)
            seconds = middle - start, time.process_time() - middle
            show(name, size, seconds, compare(counts, ours, theirs))


if __name__ == "__main__":
    main()
