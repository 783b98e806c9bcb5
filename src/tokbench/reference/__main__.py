"""Step-by-step demonstrations of the references on a small text: ``python -m tokbench.reference NAME [TEXT] [SIZE]``.

Words are split at spaces; a space belongs to the following word. Segmentations use a vocabulary by BPE.
"""

import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import islice, pairwise

import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.skipgram import alias_table
from tokbench.reference import (
    bounds,
    bpe,
    bytespan,
    discontinuity,
    documents,
    edit_distance,
    greedtok,
    length_max,
    mingram,
    morphology,
    ngram,
    numbers,
    other_segmentations,
    parity,
    pathpiece,
    sage,
    scaling,
    segmentation,
    superwords,
    toast,
    unigram,
)

EXAMPLE = "she sells sea shells by the sea shore; the shells she sells are sea shells"
MORE = 12
"""Default number of tokens beyond the bytes."""
PATTERN = r" ?[^ ]+| "
WHOLE = 1 << 30


class Text:
    """Text and derived inputs of the demonstrations.

    Attributes:
        words: Pre-tokens with their counts, in order of first appearance.
        merges: Merges of BPE as (left, right, result), in ids of ``tokens``.
        tokens: Vocabulary of BPE, the 256 bytes first.
        scores: Natural logarithm of each token's share of all matches.
    """

    def __init__(self, text: str, size: int) -> None:
        self.text, self.size = text.encode(), size
        ends = segmentation.boundaries(PATTERN, self.text)
        self.pretokens = [self.text[start:end] for start, end in pairwise(ends)]
        self.words = list(Counter(self.pretokens).items())
        made, self.tokens = bpe.train(self.words, list(range(256)), 256 + size, 1, WHOLE)
        self.merges = [(left, right, 256 + number) for number, (left, right) in enumerate(made)]
        self.ids = {token: number for number, token in enumerate(self.tokens)}
        found = segmentation.matches(self.words, self.tokens)
        self.scores = {
            token: math.log(times / sum(found)) for token, times in zip(self.tokens, found, strict=True) if times
        }

    def cut(self, segment: Callable[[bytes], list[int]]) -> Iterator[str]:
        """Yield each word as segmented by a function."""
        for word, _ in self.words:
            yield f"{shown(word)}: {spelt([self.tokens[index] for index in segment(word)])}"


def shown(token: bytes | str) -> str:
    return (token.decode("utf-8", "backslashreplace") if isinstance(token, bytes) else token).replace(" ", "_")


def spelt(tokens: list[bytes]) -> str:
    return " | ".join(map(shown, tokens))


def numbered(rows: list[tuple[bytes, object]]) -> Iterator[str]:
    """Yield one numbered line per token, with the value it was chosen for."""
    for number, (token, value) in enumerate(rows, 1):
        yield f"{number:3} {shown(token)}: {value}"


def of_bpe(text: Text) -> Iterator[str]:
    for left, right, made in text.merges:
        yield f"{shown(text.tokens[left])} + {shown(text.tokens[right])} -> {shown(text.tokens[made])}"
    yield from text.cut(lambda word: segmentation.merge(word, text.merges))


def of_bpe_dropout(text: Text) -> Iterator[str]:
    word = max(text.pretokens, key=len)[:8]
    for ids, probability in sorted(segmentation.outcomes(word, text.merges, 0.5).items(), key=lambda way: -way[1]):
        yield f"{probability:.4f} {spelt([text.tokens[index] for index in ids])}"


def of_other_segmentations(text: Text) -> Iterator[str]:
    draws = (number / 2**64 for number in numbers.draws(text.text, 0))
    for word in dict.fromkeys(text.pretokens):
        own = [text.tokens[id] for id in segmentation.merge(word, text.merges)]
        ways = (
            other_segmentations.characters(word, text.ids),
            other_segmentations.random(word, text.ids, draws),
            other_segmentations.digits_right(own, text.ids),
        )
        yield f"{shown(word)}: {'; '.join(map(spelt, ways))}"


def of_bytespan(text: Text) -> Iterator[str]:
    surprisals, _ = ngram.score([text.text], 3, text.text)
    bounds = segmentation.boundaries(PATTERN, text.text)
    for start, end, inside in bytespan.find_spans(text.text, surprisals, bounds):
        yield f"{'inside' if inside else 'first ':6} {shown(text.text[start:end])}"


def of_greedtok(text: Text) -> Iterator[str]:
    candidates = greedtok.substrings(text.words, 16)
    for constrained, name in ((True, "GreedTok"), (False, "GreedWMC")):
        yield f"{name}: tokens and the cuts that they clear"
        yield from numbered(list(greedtok.choose(text.words, candidates, text.size, constrained)))


def of_likelihood(text: Text) -> Iterator[str]:
    for word, _ in text.words:
        yield f"{shown(word)}: {spelt(segmentation.likelihood(word, text.scores))}"


def of_likeliest_shortest(text: Text) -> Iterator[str]:
    costs = {token: -round(mingram.UNITS * score) for token, score in text.scores.items()}
    for word, _ in text.words:
        yield f"{shown(word)}: {spelt(segmentation.likeliest_shortest(word, costs))}"


def of_mingram(text: Text) -> Iterator[str]:
    made, tokens = bpe.train(text.words, list(range(256)), 256 + 2 * text.size, 1, WHOLE)
    merges = [(left, right, 256 + number) for number, (left, right) in enumerate(made)]
    occurrences = dict.fromkeys(tokens, 0)
    for word, count in text.words:
        for index in segmentation.merge(word, merges):
            occurrences[tokens[index]] += count
    for name, build in (("MinGram", mingram.mingram), ("MinGram-PP", mingram.mingram_pp)):
        found = build(text.words, occurrences, text.size)
        yield f"{name}: {len(tokens) - 256} tokens of BPE, cut to {len(found) - 256}, with their costs"
        yield from numbered([(token, cost) for token, cost in found.items() if len(token) > 1])


def of_continue_training(text: Text) -> Iterator[str]:
    half = text.merges[: len(text.merges) // 2]
    old, size = text.tokens[: 256 + len(half)], 256 + text.size
    made, tokens = bpe.continue_training(text.words, old, half, list(range(len(old))), size, 1, WHOLE)
    for number, (left, right, result) in enumerate(made):
        origin = "old" if number < len(half) else "new"
        yield f"{origin}: {shown(tokens[left])} + {shown(tokens[right])} -> {shown(tokens[result])}"


def of_parity_bpe(text: Text) -> Iterator[str]:
    half = (len(text.words) + 1) // 2
    languages = [text.words[:half], text.words[half:]]
    yield "two languages: the first half of the different words, and the others; both are development sets, too"
    merges, chosen, _ = parity.parity_bpe(languages, languages, 256 + text.size, tuple, (), min_count=1)
    tokens = list(text.tokens[:256])
    for (left, right), language in zip(merges, chosen, strict=True):
        tokens.append(tokens[left] + tokens[right])
        yield f"for language {language}: {shown(tokens[left])} + {shown(tokens[right])}"


def of_prune(text: Text) -> Iterator[str]:
    left = text.tokens
    for size in range(len(text.tokens) - 1, 255, -1):
        before, left = left, bpe.prune(text.words, text.tokens, text.merges, size)
        yield from (f"{size}: without {shown(token)}" for token in before if token not in left)


def pairs_of(text: Text) -> list[tuple[bytes, ...]]:
    """Return the two parts of each merge of BPE."""
    return [(text.tokens[left], text.tokens[right]) for left, right, _ in text.merges]


def of_knock_out(text: Text) -> Iterator[str]:
    words = [(word, {len(word) - 1} if word.endswith((b"s", b"a")) else set[int]()) for word, _ in text.words]
    yield "gold: the last s or a of a word is a morpheme"
    merges = morphology.knock_out(pairs_of(text), words, Fraction(1, 2))
    yield from map(_merge, merges)


def of_restructure(text: Text) -> Iterator[str]:
    words = [(word, {len(word) - 1} if word.endswith((b"s", b"a")) else set[int]()) for word, _ in text.words]
    yield "gold: the last s or a of a word is a morpheme; knockout with reification, then annealing"
    most = len(text.merges) + 3
    changed = morphology.restructure(
        pairs_of(text), words, Fraction(1, 2), 3, 0, most, annealing="after", count=1, reification="make"
    )
    yield from map(_merge, changed)


def _merge(parts: morphology.Parts) -> str:
    return f"{' + '.join(map(shown, parts))} -> {shown(b''.join(parts))}"


def of_merge_tuples(text: Text) -> Iterator[str]:
    first, *others = pairs_of(text) or [(b"a", b"b")]
    whole = b"".join(first)
    tuples = [tuple(part for each in pair for part in (first if each == whole else (each,))) for pair in others]
    yield f"without {shown(whole)}, whose parts are merged with the next ones"
    for word, _ in text.words:
        yield f"{shown(word)}: {spelt(segmentation.merge_tuples(word, tuples))}"


def of_boundless(text: Text) -> Iterator[str]:
    size = 256 + text.size
    merges = superwords.train_words(text.words, size)
    runs = superwords.count_runs([text.pretokens], superwords.events_of(merges), lambda word: word != b" ")
    tokens, events, supermerges = superwords.boundless(merges, runs, size)
    for token in tokens[256:]:
        yield f"{shown(token)}{' of two pre-tokens or more' if b' ' in token[1:] else ''}"
    yield f"text: {spelt(superwords.encode(text.pretokens, events, supermerges))}"


def of_superbpe_words(text: Text) -> Iterator[str]:
    merges = superwords.train_words(text.words, 256 + text.size)
    events = superwords.events_of(merges)
    runs = superwords.count_runs([text.pretokens], events, lambda word: word != b" ")
    _, supermerges = superwords.superbpe_words(merges, runs, 256 + text.size + MORE)
    for left, right in supermerges:
        yield f"{shown(left)} + {shown(right)} -> {shown(left + right)}"
    yield f"text: {spelt(superwords.encode(text.pretokens, events, supermerges))}"


def of_tokens_of_words(text: Text) -> Iterator[str]:
    ends = [0]
    for word in text.pretokens:
        for number in segmentation.merge(word, text.merges):
            ends.append(ends[-1] + len(text.tokens[number]))
    words = [found.span() for found in re.finditer(rb"\w+", text.text)]
    counts = morphology.tokens_of_words(text.text, pairwise(ends), words)
    for (start, end), count in zip(words, counts, strict=True):
        yield f"{shown(text.text[start:end])}: {count}"


def of_superbpe(text: Text) -> Iterator[str]:
    words, spans = text.words, [(text.text, 1)]
    first = 256 + text.size // 2
    tokens, merges = superwords.superbpe(words, spans, range(256), first, 256 + text.size, lambda token: False)
    for place, (left, right, result) in enumerate(merges):
        stage = 1 if 256 + place < first else 2
        yield f"stage {stage}: {shown(tokens[left])} + {shown(tokens[right])} -> {shown(tokens[result])}"


def of_merge_characters(text: Text) -> Iterator[str]:
    ranks = {(left, right): float(rank) for rank, (left, right) in enumerate(pairs_of(text))}
    for word, _ in text.words:
        yield f"{shown(word)}: {spelt(segmentation.merge_characters(word, text.tokens, ranks))}"


def of_merge_scores(text: Text) -> Iterator[str]:
    for word, _ in text.words:
        yield f"{shown(word)}: {spelt(segmentation.merge_scores(word, text.scores))}"


def of_alignment(text: Text) -> Iterator[str]:
    tokens = [text.tokens[number] for word in text.pretokens for number in segmentation.merge(word, text.merges)]
    words = [found.span() for found in re.finditer(rb"\w+", text.text)]
    yield f"words that begin and end with a token without its first space, in {spelt(tokens)}"
    for (start, end), both in zip(words, documents.alignment(text.text, tokens, words, drop=True), strict=True):
        yield f"{shown(text.text[start:end])}: {all(both)}"


def of_isolated(text: Text) -> Iterator[str]:
    yield "blanks, as added tokens"
    yield " | ".join(segmentation.isolated({" ", "  ", "\n"}, text.text.decode("utf-8", "replace")))


def of_added(text: Text) -> Iterator[str]:
    longest = max(text.words, key=lambda word: len(word[0]), default=(b"", 0))[0]
    yield f"added: {shown(longest)}"
    for word, _ in text.words:
        parts = segmentation.added(word, {longest}, lambda other: [other[i : i + 1] for i in range(len(other))])
        yield f"{shown(word)}: {spelt(parts)}"


def of_cover(text: Text) -> Iterator[str]:
    longest = sorted(text.tokens[256:], key=len, reverse=True)
    for word, _ in text.words:
        yield f"{shown(word)}: {spelt(segmentation.cover(word, longest))}"


def of_events(text: Text) -> Iterator[str]:
    history = [(False, (text.tokens[left], text.tokens[right])) for left, right, _ in text.merges]
    last = history[-1][1] if history else ()
    history += [(True, last)] if last else []
    left = [token for token in text.tokens if token != b"".join(last)]
    yield f"after the last merge, of {' + '.join(map(shown, last))}, its token is removed"
    for word, _ in text.words:
        yield f"{shown(word)}: {spelt(segmentation.by_events(word, left, text.tokens[:256], history))}"


def of_pathpiece(text: Text) -> Iterator[str]:
    increases, occurrences, total = pathpiece.costs(text.words, set(text.tokens))
    yield f"{total} tokens; what each costs to leave out, and how often it occurs"
    for token in sorted(occurrences, key=lambda token: (increases[token], token)):
        yield f"{increases[token]:3} {occurrences[token]:3} {shown(token)}"


def of_picky_bpe(text: Text) -> Iterator[str]:
    words = [(list(word.decode("latin-1")), times) for word, times in text.words]
    alphabet = sorted({letter for word, _ in words for letter in word})
    tokens, history, _ = bpe.picky_bpe_train(words, alphabet, len(alphabet) + text.size, 0.6)
    yield from map(repr, history)
    yield " | ".join(map(shown, tokens[len(alphabet) :]))


def of_runs(text: Text) -> Iterator[str]:
    found = list(ngram.spilled(((word, 1) for word in text.pretokens), 4))
    for run in found:
        yield "run: " + ", ".join(f"{shown(word)} {times}" for word, times in run)
    yield from numbered(list(ngram.merged(found, 4)))


def of_scaffold_bpe(text: Text) -> Iterator[str]:
    words = [(list(word.decode("latin-1")), times) for word, times in text.words]
    alphabet = sorted({letter for word, _ in words for letter in word})
    tokens, scaffolds = bpe.scaffold_bpe_train(words, alphabet, len(alphabet) + text.size)
    yield "tokens: " + " | ".join(map(shown, tokens))
    yield "scaffolds: " + " | ".join(map(shown, scaffolds))


def of_sage(text: Text) -> Iterator[str]:
    known = set(text.tokens)
    yield spelt(sage.segment(text.text, known))
    yield "token, target, context: how often more without the token"
    for (token, target, context), times in sage.triples(text.text, known).most_common(text.size):
        yield f"{shown(token)}, {shown(target)}, {shown(context)}: {times:+}"


def aliases(weights: NDArray[np.float64]) -> tuple[list[int], list[int]]:
    thresholds, others = alias_table(weights)
    return thresholds.tolist(), others.tolist()


def of_skipgram(text: Text) -> Iterator[str]:
    sentences = [segmentation.merge(word, text.merges) for word in text.pretokens]
    joined = [index for sentence in sentences for index in sentence]
    found = sage.train(
        [joined],
        len(text.tokens),
        aliases,
        dimensions=8,
        negatives=5,
        window=2,
        epochs=20,
        sample=0.1,
        rate=0.05,
        seed=0,
    )
    unit = found / np.linalg.norm(found, axis=1, keepdims=True)
    seen = np.array(sorted(set(joined)))
    for index in seen:
        near = sorted(seen, key=lambda other: -unit[index] @ unit[other])[1:4]
        yield f"{shown(text.tokens[index])}: {spelt([text.tokens[other] for other in near])}"


def of_token_ngrams(text: Text) -> Iterator[str]:
    sentences = [
        [index for word in part for index in segmentation.merge(word, text.merges)] for part in halves(text.pretokens)
    ]
    for highest in range(1, 6):
        spent = ngram.bits(sentences[:1], sentences[1:], len(text.tokens), highest)[0]
        yield f"order {highest}, trained on the first half: {spent:.3f} bits for {len(sentences[1])} tokens of the rest"


def halves(pretokens: list[bytes]) -> tuple[list[bytes], list[bytes]]:
    middle = len(pretokens) // 2
    return pretokens[:middle], pretokens[middle:]


def _prefixes(word: bytes, tokens: Sequence[bytes]) -> list[bytes]:
    """Return the tokens that are prefixes of a word."""
    return [word[:length] for length, _ in segmentation.prefixes(segmentation.held(tokens), word)]


def of_toast(text: Text) -> Iterator[str]:
    counts = toast.known(text.words, 2)
    for word, _ in text.words:
        nodes = spelt([*toast.nodes(word, counts)])
        yield f"{shown(word)}: {spelt(toast.segment(word, text.ids, counts))}; nodes {nodes}"


def of_unigram(text: Text) -> Iterator[str]:
    probabilities = {token: math.exp(score) for token, score in text.scores.items()}
    expected, likely = unigram.expect(text.words, probabilities)
    yield f"log-likelihood {likely:.3f}; expected occurrences"
    for token, times in sorted(expected.items(), key=lambda row: (-row[1], row[0])):
        if len(token) > 1:
            yield f"{times:8.3f} {shown(token)}"


def of_wordpiece(text: Text) -> Iterator[str]:
    made = bpe.wordpiece_train(text.words, list(range(256)), 512 + text.size, 1, WHOLE, "likelihood")
    yield from ("##" * inside + shown(token) for token, inside in made[512:])


def of_morphology(text: Text) -> Iterator[str]:
    gold = [[b"s", b"h", b"ells"], [b"sea"]]
    tokens = [[b" sh", b"ells"], [b" sea"]]
    known = {b" s", b"h", b"ells", b" sea"}
    f1, scored, spelt_out = morphology.alignment(zip(gold, tokens, strict=True), known, b" ")
    yield "s-h-ells and sea, cut into _sh|ells and _sea"
    yield f"F1 {f1} over {scored} words; the vocabulary has the segments of {spelt_out}"


def of_relaxation(text: Text) -> Iterator[str]:
    every = sorted({word[i:j] for word, _ in text.words for i in range(len(word)) for j in range(i + 2, len(word) + 1)})
    upper = sum(len(word) * count for word, count in text.words)
    for steps in (1, 5, 10, 20, 40):
        bound, _ = bounds.ascend(text.words, every, text.size, steps, upper, 100)
        yield f"{steps} steps: no {text.size} tokens leave fewer than {bound:.2f} of {upper} bytes"


def of_byte_prices(text: Text) -> Iterator[str]:
    every = sorted({word[i:j] for word, _ in text.words for i in range(len(word)) for j in range(i + 2, len(word) + 1)})
    upper = sum(len(word) * count for word, count in text.words)
    potentials = [[0.5 * count * place for place in range(len(word) + 1)] for word, count in text.words]
    for steps in (1, 5, 10, 20, 40):
        bound, _ = bounds.byte_prices_ascend(text.words, every, potentials, text.size, steps, upper)
        yield f"{steps} steps: no {text.size} tokens leave fewer than {bound:.2f} of {upper} bytes"


def of_shares(text: Text) -> Iterator[str]:
    every = sorted({word[i:j] for word, _ in text.words for i in range(len(word)) for j in range(i + 2, len(word) + 1)})
    upper = sum(len(word) * count for word, count in text.words)
    even = [min(1.0, text.size / len(every))] * len(every)
    potentials = [[float(count * place) for place in range(len(word) + 1)] for word, count in text.words]
    for steps in (1, 10, 100):
        found, units = bounds.solved(text.words, every, even, potentials, text.size, steps, WHOLE)
        held = sorted(zip(found, every, strict=True), reverse=True)[:3]
        message = ", ".join(f"{share:.2f} of {shown(token)}" for share, token in held)
        yield f"{steps} steps: {units / WHOLE:.2f} of {upper} tokens with {message} and others"


def of_halves(text: bytes) -> str:
    half = len(text) // 2
    [found] = ngram.shared_bytes([text[:half]], [text[half:]], 4)
    return f"{found} of the first {half} bytes are in runs of 4 bytes that the second half has, too"


def of_discontinuity(text: Text) -> Iterator[str]:
    """Lengths of tokens in order of creation, with one byte added to those of the first half."""
    half = len(text.tokens[256:]) // 2
    lengths = [len(token) for token in text.tokens[256 : 256 + 2 * half]]
    points = [(place - half, float(length + (place < half))) for place, length in enumerate(lengths)]
    effect, error, degrees = discontinuity.jump(points, 0, half)
    yield f"jump of {effect:.3f} bytes, standard error {error:.3f}, {degrees} degrees of freedom"


def of_premiums(text: Text) -> Iterator[str]:
    """Two halves of a text as two languages."""
    half = len(text.pretokens) // 2
    halves = (text.pretokens[:half], text.pretokens[half:])
    rows = [
        (name, b"".join(part), sum(len(segmentation.merge(word, text.merges)) for word in part))
        for name, part in zip(("first", "second"), halves, strict=True)
    ]
    for name, premium in (documents.premiums(rows, "first") or {}).items():
        yield f"tokens of the {name} half / those of the first: {premium:.3f}"


def of_tokens_of_spans(text: Text) -> Iterator[str]:
    """Tokens of each word."""
    tokens = [text.tokens[number] for word in text.pretokens for number in segmentation.merge(word, text.merges)]
    words = [found.span() for found in re.finditer(rb"\w+", text.text)]
    for (start, end), count in zip(words, documents.tokens_of_spans(tokens, words), strict=True):
        yield f"{shown(text.text[start:end])}: {count}"


def of_normalised_length(text: Text) -> Iterator[str]:
    """Tokens of each word with all merges, over those with half of them."""
    merges = list(text.merges)
    tokens, of_baseline = (
        [len(segmentation.merge(word, part)) for word in text.pretokens]
        for part in (merges, merges[: len(merges) // 2])
    )
    ratio, mean = documents.normalised_length(tokens, of_baseline)
    yield f"tokens with all merges / with half of them: {ratio}, a mean over words of {float(mean):.3f}"


def of_scaling(text: Text) -> Iterator[str]:
    """Number of tokens over the number of merges: a quarter, a half and all of them."""
    all_merges = list(text.merges)
    points = []
    for part in (len(all_merges) // 4, len(all_merges) // 2, len(all_merges)):
        tokens = sum(len(segmentation.merge(word, all_merges[:part])) for word in text.pretokens)
        points.append((float(part), float(tokens)))
    exponent, coefficient, _ = scaling.power_law(points)
    yield f"tokens = {coefficient:.4g} x merges^-{exponent:.3f}"
    tau = scaling.kendall([merges for merges, _ in points], [tokens for _, tokens in points])
    yield f"Kendall's tau of merges and tokens: {tau}"


DEMONSTRATIONS: dict[str, Callable[[Text], Iterator[str]]] = {
    "alignment": of_alignment,
    "bpe": of_bpe,
    "boundless": of_boundless,
    "bpe_dropout": of_bpe_dropout,
    "byte_prices": of_byte_prices,
    "bytespan": of_bytespan,
    "continue_training": of_continue_training,
    "count": lambda text: numbered(list(ngram.count_count([text.text], PATTERN))),
    "cover": of_cover,
    "covered": lambda text: iter(
        [f"{segmentation.covered_pairs(text.tokens[256:], text.words)} pairs of bytes in a token"]
    ),
    "derivations": lambda text: (
        f"{shown(token)}: {spelt(list(parts))}"
        for token, parts in (segmentation.derivations(text.tokens, text.merges) or {}).items()
    ),
    "discontinuity": of_discontinuity,
    "edit_distance": lambda text: iter(
        f"{one.decode()}, {other.decode()}: {edit_distance.edit_distance(one, other)}"
        for one, other in pairwise(text.pretokens)
    ),
    "encode": lambda text: iter(
        [str(segmentation.encode(PATTERN, text.text, lambda word: segmentation.merge(word, text.merges)))]
    ),
    "events": of_events,
    "added": of_added,
    "isolated": of_isolated,
    "merge_characters": of_merge_characters,
    "merge_scores": of_merge_scores,
    "greedtok": of_greedtok,
    "greedy": lambda text: text.cut(lambda word: segmentation.greedy(word, text.ids, text.ids)),
    "knock_out": of_knock_out,
    "length_max": lambda text: numbered(list(length_max.choose(text.words, 16, 2, text.size))),
    "likelihood": of_likelihood,
    "likeliest_shortest": of_likeliest_shortest,
    "longest_suffix": lambda text: text.cut(lambda word: segmentation.longest_suffix(word, text.ids)),
    "matches": lambda text: numbered(
        list(zip(text.tokens[256:], segmentation.matches(text.words, text.tokens)[256:], strict=True))
    ),
    "merge": lambda text: text.cut(lambda word: segmentation.merge(word, text.merges)),
    "mingram": of_mingram,
    "merge_tuples": of_merge_tuples,
    "morphology": of_morphology,
    "ngram": lambda text: numbered(list(ngram.top_ngrams(text.words, text.size, 8))),
    "ngram_lm": lambda text: (
        f"{shown(bytes([byte]))}: {surprisal:.3f} nats, entropy {entropy:.3f}"
        for byte, surprisal, entropy in zip(text.text, *ngram.score([text.text], 3, text.text), strict=True)
    ),
    "normalised_length": of_normalised_length,
    "order": lambda text: (
        shown(text.tokens[place]) for place in numbers.by_bytes(text.tokens, range(256, len(text.tokens)))
    ),
    "other_segmentations": of_other_segmentations,
    "pathpiece": of_pathpiece,
    "picky_bpe": of_picky_bpe,
    "parity_bpe": of_parity_bpe,
    "premiums": of_premiums,
    "prune": of_prune,
    "restructure": of_restructure,
    "ranked": lambda text: text.cut(lambda word: segmentation.ranked(word, text.ids)),
    "scaling": of_scaling,
    "relaxation": of_relaxation,
    "shares": of_shares,
    "runs": of_runs,
    "sage": of_sage,
    "shared_bytes": lambda text: iter([of_halves(text.text)]),
    "scaffold_bpe": of_scaffold_bpe,
    "boundaries": lambda text: iter([spelt(text.pretokens)]),
    "shortest_path": lambda text: text.cut(lambda word: segmentation.longest(word, text.ids)),
    "skipgram": of_skipgram,
    "splitmix": lambda text: (f"{number:016x}" for number in islice(numbers.draws(text.text, 0), text.size)),
    "superbpe": of_superbpe,
    "superbpe_words": of_superbpe_words,
    "tokens_of_spans": of_tokens_of_spans,
    "tokens_of_words": of_tokens_of_words,
    "sums": lambda text: iter([f"scores add up to {numbers.whole_sum(text.scores.values())} / 2^1074"]),
    "toast": of_toast,
    "token_ngrams": of_token_ngrams,
    "trie": lambda text: (f"{shown(word)}: {spelt(_prefixes(word, text.tokens))}" for word, _ in text.words),
    "unigram": of_unigram,
    "whole_or_merge": lambda text: text.cut(lambda word: segmentation.whole_or_merge(word, text.ids, text.merges)),
    "wordpiece": of_wordpiece,
}


def main(arguments: list[str]) -> int:
    name, text, size = (*arguments, *("", EXAMPLE, str(MORE))[len(arguments) :])[:3]
    if name not in DEMONSTRATIONS or not size.isdecimal() or not text:
        print(f"python -m tokbench.reference NAME [TEXT] [SIZE]; NAME is one of {', '.join(DEMONSTRATIONS)}")
        return 2
    for line in DEMONSTRATIONS[name](Text(text, int(size))):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
