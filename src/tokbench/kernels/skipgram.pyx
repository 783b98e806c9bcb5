# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
# distutils: extra_compile_args = -O3 -ffp-contract=off
"""Skip-gram embeddings by negative sampling, trained in one thread and hence the same whatever the machine's load.

Mikolov et al., "Distributed Representations of Words and Phrases and their Compositionality" (2013), with the
conventions of gensim's ``Word2Vec``: neighbours' input rows predict the centre's output row, windows shrink at random,
frequent tokens are left out at random, updates whose product lies outside (-6, 6) are passed over. One departure: the
negatives of a centre are drawn once and serve all its neighbours, one after the other (Ji et al., "Parallelizing
Word2Vec in Shared and Distributed Memory", 2016, section III), which keeps their rows in the cache.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libcpp.vector cimport vector

import numpy as np

BLOCK = 32
MAX_DIMENSIONS = 512


cdef enum:
    STEPS = 4096        # of the table of the sigmoid between -6 and 6


cdef extern from *:
    """
    #if defined(__x86_64__) && defined(__linux__)
    #define ON_WIDER_MACHINES __attribute__((target_clones("avx2", "default")))
    #else
    #define ON_WIDER_MACHINES
    #endif

    typedef float lanes __attribute__((vector_size(32), aligned(4), may_alias));
    typedef int32_t places __attribute__((vector_size(32)));

    #ifdef __clang__
    #define PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
    #else
    #define PICK(a, b, ...) __builtin_shuffle(a, b, (places){__VA_ARGS__})
    #endif

    /* Row i of a table, from its column c on. */
    #define ROW(table, i, c) ((lanes *)((table) + (int64_t)(i) * columns + (c)))

    static void fetch(const float *table, int64_t i, int columns) {
        for (int c = 0; c < columns; c += 16)
            __builtin_prefetch(ROW(table, i, c), 1);
    }

    /* One step for one neighbour: its row of inputs against n rows of outputs, of which the first alone is true. All
       products are taken before a row is changed. ids has n rounded up to a multiple of eight entries, and so has
       steps. Additions keep one order on any machine. */
    static inline __attribute__((always_inline)) void learn_row(
        float *input, float *outputs, const int32_t *ids, int n, int columns, float rate, const float *sigmoid,
        float *steps
    ) {
        for (int k = 0; k < n; k += 8) {
            lanes s[8] = {{0}};
            for (int c = 0; c < columns; c += 8)
                for (int u = 0; u < 8; u++)
                    s[u] += *ROW(input, 0, c) * *ROW(outputs, ids[k + u], c);
            for (int u = 0; u < 4; u++)
                s[u] = PICK(s[u], s[u + 4], 0, 1, 2, 3, 8, 9, 10, 11)
                    + PICK(s[u], s[u + 4], 4, 5, 6, 7, 12, 13, 14, 15);
            for (int u = 0; u < 2; u++)
                s[u] = PICK(s[u], s[u + 2], 0, 1, 8, 9, 4, 5, 12, 13)
                    + PICK(s[u], s[u + 2], 2, 3, 10, 11, 6, 7, 14, 15);
            *(lanes *)(steps + k) = PICK(s[0], s[1], 0, 8, 2, 10, 4, 12, 6, 14)
                + PICK(s[0], s[1], 1, 9, 3, 11, 5, 13, 7, 15);
        }
        for (int k = 0; k < n; k++) {
            float product = steps[k];
            steps[k] = product <= -6 || product >= 6 ? 0
                : ((k == 0 ? 1.0f : 0.0f) - sigmoid[(int)((product + 6) * (4096 / 12.0f))]) * rate;
        }
        for (int c = 0; c < columns; c += 32) {
            lanes own[4], change[4] = {{0}};
            for (int u = 0; u < 4; u++)
                own[u] = ROW(input, 0, c)[u];
            for (int k = 0; k < n; k++) {
                lanes *to = ROW(outputs, ids[k], c);
                for (int u = 0; u < 4; u++) {
                    change[u] += to[u] * steps[k];
                    to[u] += own[u] * steps[k];
                }
            }
            for (int u = 0; u < 4; u++)
                ROW(input, 0, c)[u] = own[u] + change[u];
        }
    }

    /* The same; the compiler unrolls the usual width. */
    ON_WIDER_MACHINES
    static void learn(float *input, float *outputs, const int32_t *ids, int n, int columns, float rate,
                      const float *sigmoid, float *steps) {
        if (columns == 64)
            learn_row(input, outputs, ids, n, 64, rate, sigmoid, steps);
        else
            learn_row(input, outputs, ids, n, columns, rate, sigmoid, steps);
    }
    """
    void fetch(const float* table, int64_t i, int columns) noexcept nogil
    void learn(
        float* input, float* outputs, const int32_t* ids, int n, int columns, float rate, const float* sigmoid,
        float* steps
    ) noexcept nogil


cdef inline uint64_t draw(uint64_t* state) noexcept nogil:
    """Next number of splitmix64."""
    cdef uint64_t mixed
    state[0] += <uint64_t>0x9E3779B97F4A7C15
    mixed = state[0]
    mixed = (mixed ^ (mixed >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    mixed = (mixed ^ (mixed >> 27)) * <uint64_t>0x94D049BB133111EB
    return mixed ^ (mixed >> 31)


def alias_table(const double[::1] weights):
    """Walker's alias table (Vose's construction), to draw from a discrete distribution in constant time.

    Args:
        weights: float64 [n], not negative, not all zero.

    Returns:
        uint32 [n] thresholds and int32 [n] aliases: of a uniform place i, i itself is taken where 32 random bits are
        below the threshold or equal to it, else its alias.
    """
    cdef Py_ssize_t n = weights.shape[0], i, small, large
    scaled = np.asarray(weights) * (n / np.sum(weights))
    thresholds = np.full(n, 2 ** 32 - 1, np.uint32)
    aliases = np.arange(n, dtype=np.int32)
    cdef double[::1] rest = scaled
    cdef uint32_t[::1] threshold = thresholds
    cdef int32_t[::1] alias = aliases
    cdef vector[int64_t] under
    cdef vector[int64_t] over
    with nogil:
        for i in range(n):
            if rest[i] < 1:
                under.push_back(i)
            else:
                over.push_back(i)
        while under.size() and over.size():
            small, large = under.back(), over.back()
            under.pop_back()
            threshold[small] = <uint32_t>(rest[small] * 4294967295.0)
            alias[small] = <int32_t>large
            rest[large] -= 1 - rest[small]
            if rest[large] < 1:
                over.pop_back()
                under.push_back(large)
    return thresholds, aliases


def _rows(int64_t n, int64_t columns):
    """Zeros, float32 [n, columns], each row on cache lines of its own."""
    room = np.zeros(n * columns + 16, np.float32)
    first = -room.ctypes.data // 4 % 16
    return room[first:first + n * columns].reshape(n, columns)


def train(
    const int32_t[::1] ids,
    const int64_t[::1] bounds,
    int64_t tokens,
    *,
    int dimensions=50,
    int negatives=15,
    int window=5,
    int epochs=5,
    double sample=1e-3,
    double rate=0.025,
    double least_rate=1e-4,
    uint64_t seed=0,
):
    """Embeddings of tokens from sentences.

    Args:
        ids: int32 [n], the sentences laid end to end, each id below ``tokens``.
        bounds: int64 [sentences + 1], where each starts.
        tokens: number of rows; those of tokens that do not occur stay as drawn, uniform within 0.5 / ``dimensions``.
        dimensions: length of an embedding, 1 to 512.
        negatives: draws of other tokens for each centre, by their counts to the power 0.75.
        window: farthest neighbour, in tokens.
        epochs: passes over the sentences.
        sample: share of all tokens above which a token is left out at random; 0 for never.
        rate, least_rate: the learning rate falls from one to the other in a straight line.
        seed: of every random draw.

    Returns:
        float32 [tokens, columns], the input embeddings; ``columns`` is ``dimensions`` rounded up to a multiple of
        32, the columns past ``dimensions`` are zero.

    Raises:
        ValueError: ``dimensions`` is out of range.
    """
    if not 1 <= dimensions <= MAX_DIMENSIONS:
        raise ValueError(f"dimensions must lie between 1 and {MAX_DIMENSIONS}, not {dimensions}")
    cdef int columns = (dimensions + BLOCK - 1) // BLOCK * BLOCK
    embeddings = _rows(tokens, columns)
    cdef float[:, ::1] inputs = embeddings
    cdef float[:, ::1] outputs = _rows(tokens, columns)
    cdef uint64_t state = seed, number
    cdef int64_t token, sentence, start, end, i, neighbour, place, kept_here, done = 0
    cdef int64_t sentences = bounds.shape[0] - 1, total = bounds[sentences] - bounds[0]
    cdef int column, epoch, side, drawn
    for token in range(tokens):
        for column in range(dimensions):
            inputs[token, column] = ((draw(&state) >> 11) * 2.0 ** -53 - 0.5) / dimensions
    if total == 0:
        return embeddings

    counts = np.bincount(np.asarray(ids)[bounds[0]:bounds[sentences]], minlength=tokens).astype(np.float64)
    seen = np.flatnonzero(counts)
    keep = np.full(tokens, 2 ** 32 - 1, np.uint32)
    if sample > 0:
        excess = counts[seen] / (sample * total)
        keep[seen] = np.minimum((np.sqrt(excess) + 1) / excess, 1) * (2 ** 32 - 1)
    thresholds, aliases = alias_table(counts[seen] ** 0.75)
    cdef const uint32_t[::1] kept_share = keep
    cdef const uint32_t[:, ::1] table = np.column_stack([thresholds, seen, seen[aliases]]).astype(np.uint32)
    cdef uint64_t choices = len(seen)
    cdef float[::1] sigmoid = (1 / (1 + np.exp(6 - (np.arange(STEPS) + 0.5) * (12.0 / STEPS)))).astype(np.float32)
    cdef int64_t[2] reach
    cdef int[2] n
    cdef int32_t[::1] kept = np.empty(max(int(np.diff(bounds).max()), 1), np.int32)
    cdef int32_t[:, ::1] targets = np.empty((2, negatives + 8), np.int32)
    cdef float[::1] steps = np.empty(negatives + 8, np.float32)
    cdef float now
    with nogil:
        for epoch in range(epochs):
            for sentence in range(sentences):
                start, end = bounds[sentence], bounds[sentence + 1]
                now = max(least_rate, rate - (rate - least_rate) * done / (<double>epochs * total))
                done += end - start
                kept_here = 0
                for i in range(start, end):
                    if (draw(&state) >> 32) <= kept_share[ids[i]]:
                        kept[kept_here] = ids[i]
                        kept_here += 1
                for i in range(kept_here + 1):
                    if i < kept_here:                           # the next centre's rows come while the last one learns
                        side = i & 1
                        reach[side] = window - <int64_t>((draw(&state) >> 32) * window >> 32)
                        targets[side, 0] = kept[i]
                        fetch(&outputs[0, 0], kept[i], columns)
                        n[side] = 1
                        for drawn in range(negatives):
                            number = draw(&state)
                            place = <int64_t>((number >> 32) * choices >> 32)
                            token = table[place, 1 + (<uint32_t>number > table[place, 0])]
                            if token != kept[i]:
                                targets[side, n[side]] = <int32_t>token
                                fetch(&outputs[0, 0], token, columns)
                                n[side] += 1
                        for drawn in range(n[side], (n[side] + 7) // 8 * 8):
                            targets[side, drawn] = kept[i]
                    if i > 0:
                        side = (i - 1) & 1
                        for neighbour in range(max(0, i - 1 - reach[side]), min(kept_here, i + reach[side])):
                            if neighbour != i - 1:
                                learn(
                                    &inputs[kept[neighbour], 0], &outputs[0, 0], &targets[side, 0], n[side], columns,
                                    now, &sigmoid[0], &steps[0],
                                )
    return embeddings
