# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""SaGe's ablation loss: the decrease in the likelihood of the contexts in a text without a token.

Yehezkel and Pinter, "Incorporating Context into Subword Vocabularies" (2023), as in version 2.0 of SaGe. Losses are
sums of fixed-point numbers. So they do not depend on the order of addition, equal contexts with and without the token
cancel exactly, and ties are exact.

Reference: :mod:`tokbench.reference.sage`.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.vector cimport vector

import numpy as np

from tokbench.kernels.elementary cimport softplus
from tokbench.kernels.elementary import softplus_of
from tokbench.kernels.trie cimport Trie, TrieView, step, token_at

UNITS = 2 ** 24
"""Fixed-point units per nat."""


cdef extern from *:
    """
    typedef float lanes __attribute__((vector_size(32), aligned(4), may_alias));

    /* Dot product of two rows whose length is a multiple of eight, with a fixed order of addition on every machine. */
    static inline float dot(const float *a, const float *b, int size) {
        lanes sum = {0};
        for (int i = 0; i < size; i += 8)
            sum += *(const lanes *)(a + i) * *(const lanes *)(b + i);
        return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
    }
    """
    float dot(const float* a, const float* b, int size) noexcept nogil


cdef enum:
    PAD = 2                 # tokens of context on either side, and largest distance of a pair
    SPAN = 16               # products between -16 and 16 are looked up in a table
    STEPS = 1024            # table entries per unit of the product
    FEW = 32                # up to this many tokens of a segmentation are added up directly
    UNKNOWN = -1


_surprises = None


cdef object surprises():
    """Return the table of -log sigmoid, float64 [2 * SPAN * STEPS + 1]; cached, because computing it is slow."""
    global _surprises
    if _surprises is None:
        _surprises = softplus_of(-np.linspace(-SPAN, SPAN, 2 * SPAN * STEPS + 1))
    return _surprises


cdef inline int64_t surprise(float product, const double* table) noexcept nogil:
    """Return -log sigmoid(product) in fixed point, by linear interpolation, within 2e-7 of the true value."""
    cdef double place = (<double>product + SPAN) * STEPS, value
    cdef int64_t entry
    if place < 0 or place >= 2 * SPAN * STEPS:
        value = softplus(-<double>product)
    else:
        entry = <int64_t>place
        value = table[entry] + (table[entry + 1] - table[entry]) * (place - entry)
    return <int64_t>(value * (1 << 24))


cdef int64_t surprise_of(
    const int32_t* ids, int64_t n, int64_t left, int64_t right, const float[:, ::1] embeddings, const double* table
) noexcept nogil:
    """Sum over ordered pairs at distance 1 or 2 with a member outside the padding, ids[:left] and ids[right:]."""
    cdef int64_t target, context, sum = 0
    cdef int columns = <int>embeddings.shape[1]
    for target in range(n):
        for context in range(target + 1, min(target + PAD + 1, n)):
            if (left <= target < right) or (left <= context < right):
                sum += surprise(dot(&embeddings[ids[target], 0], &embeddings[ids[context], 0], columns), table)
    return 2 * sum


cdef int64_t longest(const TrieView* trie, const uint8_t* text, int64_t limit, int32_t* token) noexcept nogil:
    """Return the length of the longest token within ``limit`` bytes. There is one, because every byte is a token."""
    cdef int64_t place, length = 0
    cdef int32_t node = 0
    for place in range(limit):
        node = step(trie, node, text[place])
        if node < 0:
            break
        if token_at(trie, node) >= 0:
            token[0] = token_at(trie, node)
            length = place + 1
    return length


cdef class Line:
    """Sums over the rest of a line from each place, for ablated segmentations that take long to meet the original one.

    The longest matches from a place on do not depend on what precedes it, so each place is evaluated once.
    """

    cdef const uint8_t* text
    cdef int64_t size
    cdef vector[int32_t] own        # index of the line's token that starts at a place, UNKNOWN for none
    cdef vector[int64_t] own_sums   # per token: sum over the pairs of each earlier token with its next two
    cdef vector[int32_t] tokens     # longest token at a place
    cdef vector[int64_t] rests      # sum over the pairs from a place on, until a boundary of the line is met
    cdef vector[int32_t] meets      # index of the token at that boundary
    cdef vector[int64_t] way

    cdef int fill(
        self, const uint8_t* text, int64_t size, const int32_t* ids, int64_t n, const int32_t[::1] lengths,
        const float[:, ::1] embeddings, const double* table,
    ) except -1 nogil:
        """Load a line of n tokens."""
        cdef int64_t place = 0, index, sum = 0
        self.text, self.size = text, size
        self.own.clear()
        self.rests.clear()
        self.own.resize(size + 1, UNKNOWN)
        self.rests.resize(size + 1, UNKNOWN)
        self.tokens.resize(size + 1)
        self.meets.resize(size + 1)
        self.own_sums.resize(n + 1)
        for index in range(n):
            self.own[place], self.own_sums[index] = <int32_t>index, sum
            sum += surprise_of(ids + index, min(<int64_t>PAD + 1, n - index), 0, 1, embeddings, table)
            place += lengths[ids[index]]
        self.own[place], self.own_sums[n] = <int32_t>n, sum
        return 0

    cdef int64_t follow(
        self, int64_t place, const TrieView* view, const int32_t[::1] lengths, const float[:, ::1] embeddings,
        const double* table,
    ) except -1 nogil:
        """Return the sum over the pairs from a place where no token of the line starts, and set ``meets``."""
        cdef int32_t[PAD + 1] ids
        cdef int64_t start = place, after
        cdef int n
        self.way.clear()
        while self.own[place] == UNKNOWN and self.rests[place] == UNKNOWN:
            self.way.push_back(place)
            place += longest(view, self.text + place, self.size - place, &self.tokens[place])
        while self.way.size() > 0:
            place = self.way.back()
            self.way.pop_back()
            ids[0] = self.tokens[place]
            n, after = 1, place + lengths[ids[0]]
            if self.own[after] == UNKNOWN:
                self.rests[place], self.meets[place] = self.rests[after], self.meets[after]
            else:
                self.rests[place], self.meets[place] = 0, self.own[after]
            while n <= PAD and after < self.size:
                after += longest(view, self.text + after, self.size - after, &ids[n])
                n += 1
            self.rests[place] += surprise_of(ids, n, 0, 1, embeddings, table)
        return self.rests[start]


def ablation_losses(
    Trie trie not None,
    const uint8_t[::1] data,
    const int64_t[::1] offsets,
    const int32_t[::1] ids,
    const int64_t[::1] bounds,
    const int32_t[::1] lengths,
    const float[:, ::1] embeddings,
    int64_t first,
    int64_t last,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Compute the ablation loss of each token of two bytes or more in a range of lines, and its occurrences.

    An occurrence is replaced by the longest shorter token at its place, followed by longest matches until a boundary of
    the original segmentation is met. The contexts of both versions, with two tokens on either side, are compared under
    the embeddings, which are used for targets and contexts.

    Args:
        trie: Trie of the vocabulary, including every single byte.
        data: uint8 [bytes], concatenated lines.
        offsets: int64 [lines + 1], start of each line.
        ids: int32 [n], segmentations of the lines by longest match.
        bounds: int64 [lines + 1], start of each line's ids.
        lengths: int32 [tokens], length of each token in bytes.
        embeddings: float32 [tokens, columns]; the number of columns is a multiple of eight.
        first, last: Range of lines, ``first <= i < last``.

    Returns:
        int64 [tokens], losses: log-likelihood with the token minus that without it, in nats times :data:`UNITS`; int64
            [tokens], occurrences.

    Raises:
        ValueError: the number of columns is not a multiple of eight.
    """
    if embeddings.shape[1] % 8:
        raise ValueError(f"embeddings have {embeddings.shape[1]} columns, not a multiple of eight")
    every_loss = np.zeros(lengths.shape[0], np.int64)
    every_occurrence = np.zeros(lengths.shape[0], np.int64)
    cdef const double[::1] table = surprises()
    cdef int64_t[::1] losses = every_loss
    cdef int64_t[::1] occurrences = every_occurrence
    cdef const TrieView* view = &trie.view
    cdef const uint8_t* text
    cdef vector[int32_t] ablated
    cdef Line whole = Line()
    cdef int64_t line, index, begin, beyond, stop, left, right, start, place, base, size, limit, loss, filled = -1
    cdef int32_t token, shorter = 0
    with nogil:
        for line in range(first, last):
            size = offsets[line + 1] - offsets[line]
            if size == 0:
                continue
            text = &data[offsets[line]]
            start = 0
            for index in range(bounds[line], bounds[line + 1]):
                token = ids[index]
                if lengths[token] > 1:
                    begin = max(bounds[line], index - PAD)
                    left = index - begin
                    ablated.clear()
                    for base in range(begin, index):
                        ablated.push_back(ids[base])
                    place, base, beyond, limit, loss = start, start, index, lengths[token] - 1, 0
                    while True:
                        place += longest(view, text + place, limit, &shorter)
                        ablated.push_back(shorter)
                        while base < place:
                            base += lengths[ids[beyond]]
                            beyond += 1
                        if base == place or beyond - begin >= FEW or ablated.size() >= FEW:
                            break
                        limit = size - place
                    stop = beyond       # end of the tokens that are added up directly
                    if base > place:
                        if filled != line:
                            whole.fill(
                                text, size, &ids[bounds[line]], bounds[line + 1] - bounds[line], lengths, embeddings,
                                &table[0],
                            )
                            filled = line
                        loss = whole.follow(place, view, lengths, embeddings, &table[0])
                        beyond = bounds[line] + whole.meets[place]
                        loss -= whole.own_sums[beyond - bounds[line]] - whole.own_sums[stop - bounds[line]]
                        right = 0
                        while right < PAD and place < size:
                            place += longest(view, text + place, size - place, &shorter)
                            ablated.push_back(shorter)
                            right += 1
                    else:
                        right = min(<int64_t>PAD, bounds[line + 1] - beyond)
                        for base in range(beyond, beyond + right):
                            ablated.push_back(ids[base])
                    loss += surprise_of(
                        ablated.data(), ablated.size(), left, ablated.size() - right, embeddings, &table[0]
                    )
                    right = min(<int64_t>PAD, bounds[line + 1] - stop)
                    losses[token] += loss - surprise_of(
                        &ids[begin], stop + right - begin, left, stop - begin, embeddings, &table[0]
                    )
                occurrences[token] += 1
                start += lengths[token]
    return every_loss, every_occurrence
