# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Lattice of a unigram model: expected counts, best segmentations, and the value of each token.

Sums over segmentations are products of probabilities, stored as a mantissa and a power of 2**512. So pre-tokens of any
length do not underflow, and no logarithm per edge is needed.

Tokens are numbered as in the trie. Tokens of probability zero are not in the lattice. All single bytes have positive
probabilities, so that every position can be reached.

Reference: :mod:`tokbench.reference.unigram`.
"""

from libc.math cimport ldexp
from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.vector cimport vector

from tokbench.kernels.elementary cimport log
from tokbench.kernels.trie cimport Trie, TrieView, step, token_at

cdef enum:
    SHIFT = 512

cdef double TINY = 2.0 ** -SHIFT
cdef double HUGE = 2.0 ** SHIFT
cdef double LOG_SHIFT = SHIFT * log(2.0)
cdef double NEVER = -1e300


cdef struct Scaled:
    # value * 2**(SHIFT * power)
    double value
    int64_t power


cdef struct Edge:
    int32_t token
    int32_t length


cdef struct Arrival:
    double score
    int64_t start
    int32_t token


cdef inline void add(Scaled *total, double value, int64_t power) noexcept nogil:
    """Add ``value * 2**(SHIFT * power)`` to a sum, in place."""
    if total.value == 0 or power > total.power + 1:
        total.value, total.power = value, power
    elif power == total.power:
        total.value += value
    elif power == total.power + 1:
        total.value, total.power = value + total.value * TINY, power
    elif power == total.power - 1:
        total.value += value * TINY


cdef inline void normalise(Scaled *total) noexcept nogil:
    while 0 < total.value < TINY:
        total.value *= HUGE
        total.power -= 1


def expect(
    Trie trie,
    const double[::1] probabilities,
    const uint8_t[::1] data,
    const int64_t[::1] offsets,
    const int64_t[::1] counts,
    int64_t first,
    int64_t last,
    double[::1] expected,
) -> float:
    """Add the expected occurrences of each token in a range of pre-tokens to ``expected``.

    Args:
        trie: Trie of the tokens.
        probabilities: float64 [tokens]; positive for all single bytes.
        data: uint8 [bytes], concatenated pre-tokens.
        offsets: int64 [pre-tokens + 1], start of each pre-token.
        counts: int64 [pre-tokens], count of each.
        first: First pre-token of the range.
        last: End of the range, exclusive.
        expected: float64 [tokens], expected number of occurrences under the model; added to.

    Returns:
        The log-likelihood of these pre-tokens in nats, weighted by their counts.
    """
    cdef const TrieView *view = &trie.view
    cdef vector[Scaled] forward, backward
    cdef vector[Edge] edges
    cdef vector[int64_t] begins
    cdef int64_t word, length, i, j
    cdef int32_t node, token
    cdef const uint8_t *text
    cdef double likelihood = 0, beyond, through, weight
    cdef Scaled zero, here, total
    cdef Edge edge
    zero.value, zero.power = 0, 0
    with nogil:
        for word in range(first, last):
            length = offsets[word + 1] - offsets[word]
            text = &data[offsets[word]]
            edges.clear()
            if <int64_t>begins.size() <= length:
                forward.resize(length + 1)
                backward.resize(length + 1)
                begins.resize(length + 1)
            for i in range(length + 1):
                forward[i] = backward[i] = zero
            forward[0].value = backward[length].value = 1
            for i in range(length):
                begins[i] = edges.size()
                normalise(&forward[i])
                here = forward[i]
                node = 0
                for j in range(i, length):
                    node = step(view, node, text[j])
                    if node < 0:
                        break
                    token = token_at(view, node)
                    if token >= 0 and probabilities[token] > 0:
                        edge.token, edge.length = token, <int32_t>(j + 1 - i)
                        edges.push_back(edge)
                        add(&forward[j + 1], here.value * probabilities[token], here.power)
            begins[length] = edges.size()
            total = forward[length]
            likelihood += counts[word] * (log(total.value) + total.power * LOG_SHIFT)
            for i in range(length - 1, -1, -1):
                weight = counts[word] * (forward[i].value / total.value)
                for j in range(begins[i], begins[i + 1]):
                    edge = edges[j]
                    here = backward[i + edge.length]
                    beyond = probabilities[edge.token] * here.value
                    add(&backward[i], beyond, here.power)
                    through = weight * beyond
                    here.power += forward[i].power - total.power
                    if here.power != 0:
                        through = ldexp(through, <int>(SHIFT * here.power))
                    expected[edge.token] += through
                normalise(&backward[i])
    return likelihood


cdef int best_path(
    const TrieView *view, const double *scores, const uint8_t *text, int64_t length, int32_t excluded,
    vector[Arrival] &best,
) except -1 nogil:
    """Find the best path to each position, without the token ``excluded``. Ties: the longest last token."""
    cdef int64_t i, j
    cdef int32_t node, token
    cdef double score
    cdef Arrival nowhere
    nowhere.score, nowhere.start, nowhere.token = NEVER, -1, -1
    best.clear()
    best.resize(length + 1, nowhere)
    best[0].score = 0
    for i in range(length):
        if best[i].score == NEVER:
            continue
        node = 0
        for j in range(i, length):
            node = step(view, node, text[j])
            if node < 0:
                break
            token = token_at(view, node)
            if token >= 0 and scores[token] > NEVER and token != excluded:
                score = best[i].score + scores[token]
                if score > best[j + 1].score:
                    best[j + 1].score, best[j + 1].start, best[j + 1].token = score, i, token
    return 0


def count_best(
    Trie trie,
    const double[::1] scores,
    const uint8_t[::1] data,
    const int64_t[::1] offsets,
    const int64_t[::1] counts,
    int64_t first,
    int64_t last,
    int64_t[::1] occurrences,
) -> None:
    """Add the occurrences of each token in the best segmentations of a range of pre-tokens to ``occurrences``.

    Arguments are those of :func:`expect`, with ``scores``, float64 [tokens], natural logarithms of the probabilities
    (-inf for zero), and ``occurrences``, int64 [tokens], added to.
    """
    cdef vector[Arrival] best
    cdef int64_t word, at, length
    with nogil:
        for word in range(first, last):
            length = offsets[word + 1] - offsets[word]
            best_path(&trie.view, &scores[0], &data[offsets[word]], length, -1, best)
            at = length
            while at > 0:
                occurrences[best[at].token] += counts[word]
                at = best[at].start


def losses(
    Trie trie,
    const double[::1] scores,
    const int64_t[::1] occurrences,
    const uint8_t[::1] data,
    const int64_t[::1] offsets,
    int64_t first,
    int64_t last,
    int64_t tokens,
    int64_t growth,
    double[::1] loss,
) -> None:
    """Compute the loss of the text, in nats per token, without each token of a range.

    The occurrences of a token are assumed to be replaced by the best segmentation of its bytes into other tokens (Kudo
    2018, "Subword Regularization", section 3.2, with the approximation of sentencepiece).

    Args:
        trie: Trie of the tokens.
        scores: float64 [tokens], natural logarithms of the probabilities, -inf for zero.
        occurrences: int64 [tokens], in the best segmentation of the text.
        data: uint8 [bytes], concatenated tokens.
        offsets: int64 [tokens + 1], start of each token.
        first: First token of the range.
        last: End of the range, exclusive.
        tokens: Number of tokens of the text.
        growth: Assumed increase in the number of tokens per replaced occurrence. If negative, the actual increase is
            used: the number of parts minus one.
        loss: float64 [tokens], output for the range. inf for a token that cannot be replaced, or that occurs although
            its own bytes would be segmented differently; -inf for other tokens that do not occur, and for tokens of
            probability zero.
    """
    cdef vector[Arrival] best
    cdef int64_t id, at, length, pieces
    cdef double total = tokens, alternative, infinity = float("inf")
    with nogil:
        for id in range(first, last):
            if scores[id] <= NEVER:
                loss[id] = -infinity
                continue
            length = offsets[id + 1] - offsets[id]
            best_path(&trie.view, &scores[0], &data[offsets[id]], length, <int32_t>id, best)
            if best[length].start < 0:
                loss[id] = infinity
                continue
            if occurrences[id] == 0:
                loss[id] = -infinity
                continue
            if best[length].score > scores[id]:
                loss[id] = infinity
                continue
            pieces = 0
            alternative = 0
            at = length
            while at > 0:
                pieces += 1
                alternative += log(<double>(occurrences[best[at].token] + occurrences[id]))
                at = best[at].start
            alternative -= pieces * log(total + <double>occurrences[id] * (growth if growth >= 0 else pieces - 1))
            loss[id] = occurrences[id] / total * (log(<double>occurrences[id]) - log(total) - alternative)
