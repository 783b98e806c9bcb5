# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Skip-gram embeddings with negative sampling, trained by one thread, so that the result is reproducible.

Mikolov et al., "Distributed Representations of Words and Phrases and their Compositionality" (2013), with the
conventions of gensim's ``Word2Vec``. Input rows of neighbours predict the output row of the centre. Windows shrink and
frequent tokens are dropped at random. Updates with a product outside (-6, 6) are skipped. One difference: the negatives
of a centre are drawn once and used for all its neighbours (Ji et al., "Parallelizing Word2Vec in Shared and Distributed
Memory", 2016, section III). This keeps their rows in the cache.

Reference: ``train`` in :mod:`tokbench.reference.sage`.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libcpp.vector cimport vector

import numpy as np

from tokbench.kernels.elementary import exponentials_of, powers_of
from tokbench.kernels.prefetch cimport prefetch
from tokbench.kernels.splitmix cimport advanced, mixed

BLOCK = 64
MAX_DIMENSIONS = 512


cdef extern from *:
    """
    #if defined(__x86_64__) && defined(__linux__)
    #define ON(machine) __attribute__((target(machine)))
    #define RUNS(machine) (__builtin_cpu_init(), __builtin_cpu_supports(machine))
    #else
    #define ON(machine)
    #define RUNS(machine) 0
    #endif
    #define STEPS 4096  /* entries of the sigmoid table between -6 and 6 */
    #define INLINE inline __attribute__((always_inline))

    template <int width> struct row_part { typedef float lanes __attribute__((vector_size(64), aligned(4), may_alias)); };
    template <> struct row_part<8> { typedef float lanes __attribute__((vector_size(32), aligned(4), may_alias)); };
    template <> struct row_part<4> { typedef float lanes __attribute__((vector_size(16), aligned(4), may_alias)); };
    typedef row_part<8>::lanes eight;
    typedef int32_t places __attribute__((vector_size(32)));

    #ifdef __clang__
    #define PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
    #else
    #define PICK(a, b, ...) __builtin_shuffle(a, b, (places){__VA_ARGS__})
    #endif

    static void fetch(const float *table, int64_t i, int columns) {
        for (int c = 0; c < columns; c += 16)
            TOKBENCH_PREFETCH(table + i * columns + c);
    }

    /* Sums of eight rows of sixteen numbers, by repeated halving. */
    template <int width> INLINE void add_up(const float (*of)[16], float *sums) {
        eight s[8];
        for (int u = 0; u < 8; u++)
            s[u] = *(const eight *)of[u] + *(const eight *)(of[u] + 8);
        for (int u = 0; u < 4; u++)
            s[u] = PICK(s[u], s[u + 4], 0, 1, 2, 3, 8, 9, 10, 11) + PICK(s[u], s[u + 4], 4, 5, 6, 7, 12, 13, 14, 15);
        for (int u = 0; u < 2; u++)
            s[u] = PICK(s[u], s[u + 2], 0, 1, 8, 9, 4, 5, 12, 13) + PICK(s[u], s[u + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        *(eight *)sums = PICK(s[0], s[1], 0, 8, 2, 10, 4, 12, 6, 14) + PICK(s[0], s[1], 1, 9, 3, 11, 5, 13, 7, 15);
    }

    template <> INLINE void add_up<4>(const float (*of)[16], float *sums) {
        for (int u = 0; u < 8; u++) {
            float s[16];
            __builtin_memcpy(s, of[u], sizeof s);
            for (int half = 8; half; half /= 2)
                for (int i = 0; i < half; i++)
                    s[i] += s[i + half];
            sums[u] = s[0];
        }
    }

    /* One step for one neighbour: its input row against n output rows, of which only the first is a positive. All
       products are computed before a row is changed. ids and steps have n rounded up to a multiple of eight entries.
       The order of addition is that of sixteen running sums, for any vector width of the machine. */
    template <int width> INLINE void learn_row(
        float *input, float *outputs, const int32_t *ids, int n, int columns, float rate, const float *sigmoid,
        float *steps
    ) {
        typedef typename row_part<width>::lanes lanes;
        enum { PARTS = 16 / width, ROWS = 8 / PARTS };
        for (int k = 0; k < n; k += 8) {
            float running[8][16];
            for (int h = 0; h < 8; h += ROWS) {
                lanes s[8] = {{0}};
                for (int c = 0; c < columns; c += 16)
                    for (int u = 0; u < 8; u++) {
                        int at = c + u % PARTS * width;
                        s[u] += *(lanes *)(input + at)
                            * *(lanes *)(outputs + (int64_t)ids[k + h + u / PARTS] * columns + at);
                    }
                for (int u = 0; u < 8; u++)
                    ((lanes *)running[h])[u] = s[u];
            }
            add_up<width>(running, steps + k);
        }
        for (int k = 0; k < n; k++) {
            float place = (steps[k] + 6) * (STEPS / 12.0f);
            steps[k] = place >= 0 && place < STEPS ? ((k == 0 ? 1.0f : 0.0f) - sigmoid[(int)place]) * rate : 0;
        }
        for (int c = 0; c < columns; c += 4 * width) {
            lanes own[4], change[4] = {{0}};
            for (int u = 0; u < 4; u++)
                own[u] = ((lanes *)(input + c))[u];
            for (int k = 0; k < n; k++) {
                lanes *to = (lanes *)(outputs + (int64_t)ids[k] * columns + c);
                for (int u = 0; u < 4; u++) {
                    change[u] += to[u] * steps[k];
                    to[u] += own[u] * steps[k];
                }
            }
            for (int u = 0; u < 4; u++)
                ((lanes *)(input + c))[u] = own[u] + change[u];
        }
    }

    typedef void (*learner)(float *, float *, const int32_t *, int, int, float, const float *, float *);

    /* The compiler unrolls the loop for the default number of columns. */
    #define LEARNER(name, machine, width) \\
        machine static void name(float *input, float *outputs, const int32_t *ids, int n, int columns, float rate, \\
                                 const float *sigmoid, float *steps) { \\
            if (columns == 64) \\
                learn_row<width>(input, outputs, ids, n, 64, rate, sigmoid, steps); \\
            else \\
                learn_row<width>(input, outputs, ids, n, columns, rate, sigmoid, steps); \\
        }
    LEARNER(learn_by_4, , 4)
    LEARNER(learn_by_8, ON("avx2"), 8)
    LEARNER(learn_by_16, ON("avx512f"), 16)

    static learner learner_of(int width) {
        return width >= 16 && RUNS("avx512f") ? learn_by_16 : width >= 8 && RUNS("avx2") ? learn_by_8 : learn_by_4;
    }
    """
    ctypedef void (*learner)(
        float* input, float* outputs, const int32_t* ids, int n, int columns, float rate, const float* sigmoid,
        float* steps
    ) noexcept nogil
    learner learner_of(int width)
    const int STEPS
    void fetch(const float* table, int64_t i, int columns) noexcept nogil


cdef inline uint64_t draw(uint64_t* state) noexcept nogil:
    state[0] = advanced(state[0])
    return mixed(state[0])


def alias_table(const double[::1] weights) -> tuple[NDArray[np.uint32], NDArray[np.int32]]:
    """Build Walker's alias table (Vose's construction), for draws from a discrete distribution in constant time.

    Args:
        weights: float64 [n], not negative, not all zero.

    Returns:
        uint32 [n], thresholds, and int32 [n], aliases. For a uniform index i, the draw is i if 32 random bits are at
            most the threshold, and otherwise its alias.
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
    """Return zeros, float32 [n, columns], with rows aligned to cache lines."""
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
    int width=16,
) -> NDArray[np.float32]:
    """Train token embeddings on sentences.

    Args:
        ids: int32 [n], concatenated sentences; each id is below ``tokens``.
        bounds: int64 [sentences + 1], start of each sentence.
        tokens: Number of rows. Initial values are uniform within 1 / ``dimensions`` for tokens that occur, as in gensim
            4. Rows of other tokens keep their initial values, uniform within 0.5 / ``dimensions``, as in SaGe 2.0.
        dimensions: Length of an embedding, 1 to 512 (default: 50).
        negatives: Number of negative samples per centre, drawn by count to the power 0.75 (default: 15).
        window: Largest distance of a neighbour, in tokens (default: 5).
        epochs: Passes over the sentences (default: 5).
        sample: Share of all tokens above which a token is dropped at random; 0 for never (default: 0.001).
        rate, least_rate: Initial and final learning rate; the decay is linear (default: 0.025 and 0.0001).
        seed: Seed of all random draws (default: 0).
        width: Largest vector width in numbers, if supported (default: 16). The result does not depend on it.

    Returns:
        float32 [tokens, columns], the input embeddings. ``columns`` is ``dimensions`` rounded up to a multiple of 64;
            the additional columns are zero.

    Raises:
        ValueError: ``dimensions`` is out of range.
    """
    if not 1 <= dimensions <= MAX_DIMENSIONS:
        raise ValueError(f"dimensions must lie between 1 and {MAX_DIMENSIONS}, not {dimensions}")
    cdef int columns = (dimensions + BLOCK - 1) // BLOCK * BLOCK
    embeddings = _rows(tokens, columns)
    cdef learner learn = learner_of(width)
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
    embeddings[seen] *= 2
    keep = np.full(tokens, 2 ** 32 - 1, np.uint32)
    if sample > 0:
        excess = counts[seen] / (sample * total)
        keep[seen] = np.minimum((np.sqrt(excess) + 1) / excess, 1) * (2 ** 32 - 1)
    thresholds, aliases = alias_table(powers_of(counts[seen], 0.75))
    cdef const uint32_t[::1] kept_share = keep
    cdef const uint32_t[:, ::1] table = np.column_stack([thresholds, seen, seen[aliases]]).astype(np.uint32)
    cdef uint64_t choices = len(seen)
    cdef float[::1] sigmoid = (
        1 / (1 + exponentials_of(6 - (np.arange(STEPS) + 0.5) * (12.0 / STEPS)))
    ).astype(np.float32)
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
                    # prefetch the next centre's rows during the last one's step
                    if i < kept_here:
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
