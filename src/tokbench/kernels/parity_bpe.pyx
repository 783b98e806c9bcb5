# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Byte-pair merging over the words of several languages, with one list of merges.

Each language has its own symbols, pairs and queue, since most pairs occur in few languages. A merge is chosen from the
queue of one text and applied to all texts. Development sets are texts without a queue. Positions are stored as in
:mod:`tokbench.kernels.bpe`: a pair gets all its positions when the younger of its symbols is made, and its count can
only fall. Queues are lazy: a pair is updated when it reaches the top.

Reference: ``parity_bpe`` in :mod:`tokbench.reference.parity`.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint64_t
from libcpp.vector cimport vector

from tokbench.kernels.limits cimport next_number, within
from tokbench.kernels.pair_table cimport Pair as Slot
from tokbench.kernels.pair_table cimport slot_of
from tokbench.kernels.queue cimport Untold, push, settle, take_out
from tokbench.kernels.symbols cimport Numbers, Symbol, fetch_ahead, lay_out, number_of, swallow


cdef extern from *:
    """
    #include <cstring>

    struct Spelling {       // of all symbols
        std::vector<uint8_t> letters;
        std::vector<int64_t> bounds;
        std::vector<uint64_t> ranks;
        bool oldest;        // of pairs with equal counts the one with the lowest ranks is first, not the greatest text
    };

    static inline int compare(const Spelling &spelling, int32_t a, int32_t b) {
        const int64_t first = spelling.bounds[a], second = spelling.bounds[b];
        const int64_t long_a = spelling.bounds[a + 1] - first, long_b = spelling.bounds[b + 1] - second;
        const int order = std::memcmp(
            spelling.letters.data() + first, spelling.letters.data() + second, std::min(long_a, long_b)
        );
        return order ? order : (long_a > long_b) - (long_a < long_b);
    }

    struct Waiting {        // a pair in a queue
        const Spelling *spelling;
        int64_t count;
        int32_t pair, left, right;
    };

    static inline void stand(Untold &, const Waiting &, size_t) {}

    static inline bool precedes(const Waiting &a, const Waiting &b) {
        if (a.count != b.count) return a.count > b.count;
        const Spelling &spelling = *a.spelling;
        if (spelling.oldest) {
            const uint64_t first = spelling.ranks[a.left], second = spelling.ranks[b.left];
            return first == second ? spelling.ranks[a.right] < spelling.ranks[b.right] : first < second;
        }
        const int order = a.left == b.left ? 0 : compare(spelling, a.left, b.left);
        return order ? order > 0 : a.right != b.right && compare(spelling, a.right, b.right) > 0;
    }
    """
    cppclass Spelling:
        vector[unsigned char] letters
        vector[int64_t] bounds
        vector[uint64_t] ranks
        bint oldest

    struct Waiting:
        const Spelling *spelling
        int64_t count
        int32_t pair
        int32_t left
        int32_t right


ALL_TOGETHER = -1
"""Choice of a merge whose counts are those of all languages."""
NO_LANGUAGE = -2
"""Reason of an early end: no language has a pair that may be merged."""
COMPLETE = -3
"""Training ended with the requested number of symbols."""


cdef struct Pair:
    int64_t count
    int64_t start   # of its first position in the store of its text
    int32_t size    # number of positions, including those since broken up
    int32_t left
    int32_t right


cdef struct Event:
    int32_t pair
    int32_t position


cdef class Training:
    """State of one training run over the 256 bytes.

    Args:
        letters: int64 [256], rank of each byte in the order of texts.
        oldest: Of pairs with equal counts, merge that with the lowest (left, right) by ``letters`` for bytes and by
            creation for merged symbols, which follow. If False, merge the greatest (left, right) as texts.
        min_count: Minimum count of a merged pair; at least 1.
    """

    cdef Spelling spelling
    cdef vector[vector[Symbol]] symbols
    cdef vector[vector[Pair]] pairs
    cdef vector[vector[int32_t]] stores
    cdef vector[Numbers] numbers
    cdef vector[vector[Waiting]] queues
    cdef vector[char] queued        # whether pairs of the text are chosen
    cdef vector[int64_t] tokens     # of each text
    cdef vector[int32_t] of_left    # during a merge in a text: pair of a symbol followed by the new one, -1 for none
    cdef vector[int32_t] of_right   # likewise, preceded by the new one
    cdef vector[Event] events
    cdef vector[int32_t] recent     # chosen languages in the window, in a ring
    cdef vector[int32_t] times      # occurrences of each language in the window
    cdef vector[char] exhausted     # languages without a pair that may be merged
    cdef vector[char] passed        # languages that the current choice passes over
    cdef vector[int64_t] at_start   # tokens of each language at the start
    cdef int64_t min_count

    def __init__(self, const int64_t[::1] letters, bint oldest, int64_t min_count):
        cdef int32_t byte
        self.min_count = max(min_count, 1)
        self.spelling.oldest = oldest
        self.spelling.bounds.push_back(0)
        for byte in range(256):
            self.spelling.letters.push_back(<unsigned char>letters[byte])
            self.add_symbol(letters[byte])

    def add(
        self, const int32_t[::1] text, const int64_t[::1] offsets, const int64_t[::1] counts, bint queued
    ) -> None:
        """Add a text: first each language, then the development set of each if there are any, then all languages
        together if some merges are chosen by their sums.

        Args:
            text: int32 [n], concatenated words as bytes; n is less than 2**31.
            offsets: int64 [words + 1], start of each word; the last entry is n.
            counts: int64 [words], count of each word, all positive.
            queued: Whether merges are chosen by the pairs of the text.

        Raises:
            OverflowError: there are 2**31 or more positions or pairs.
            MemoryError: there is not enough memory.
        """
        with nogil:
            self.lay_out_text(text, offsets, counts, queued)

    cdef int lay_out_text(
        self, const int32_t[::1] text, const int64_t[::1] offsets, const int64_t[::1] counts, bint queued
    ) except -1 nogil:
        cdef size_t place = self.tokens.size()
        cdef int64_t i
        cdef int32_t left, right, number
        cdef Symbol *symbol
        cdef vector[Pair] *pairs
        self.symbols.resize(place + 1)
        self.pairs.resize(place + 1)
        self.stores.resize(place + 1)
        self.numbers.resize(place + 1)
        self.queues.resize(place + 1)
        self.queued.push_back(queued)
        self.tokens.push_back(0)
        pairs = &self.pairs[place]
        lay_out(self.symbols[place], text, offsets, counts)
        for i in range(text.shape[0]):
            symbol = &self.symbols[place][i]
            self.tokens[place] += symbol.weight
            if symbol.next < 0:
                continue
            left, right = symbol.id, self.symbols[place][symbol.next].id
            number = number_of(self.numbers[place], left, right, pairs.size())
            if number == <int64_t>pairs.size():
                self.add_pair(place, left, right)
            symbol.pair = number
            self.give(place, number, <int32_t>i, symbol.weight)
        return self.store(place, 0)

    cdef int add_symbol(self, int64_t rank) except -1 nogil:
        self.spelling.bounds.push_back(self.spelling.letters.size())
        self.spelling.ranks.push_back(rank)
        self.of_left.push_back(-1)
        self.of_right.push_back(-1)
        return 0

    cdef int32_t join_symbols(self, int32_t left, int32_t right) except -1 nogil:
        """Create the symbol of a pair and return it."""
        cdef int32_t id = <int32_t>self.spelling.ranks.size()
        cdef int32_t part
        cdef int64_t i
        cdef int side
        for side in range(2):
            part = right if side else left
            for i in range(self.spelling.bounds[part], self.spelling.bounds[part + 1]):
                self.spelling.letters.push_back(self.spelling.letters[i])
        self.add_symbol(id)
        return id

    cdef int32_t add_pair(self, size_t place, int32_t left, int32_t right) except -1 nogil:
        cdef Pair pair
        cdef int32_t id = next_number(self.pairs[place].size(), "pairs")
        pair.count, pair.start, pair.size, pair.left, pair.right = 0, 0, 0, left, right
        self.pairs[place].push_back(pair)
        return id

    cdef inline int give(self, size_t place, int32_t pair, int32_t position, int64_t weight) except -1 nogil:
        cdef Event event
        event.pair, event.position = pair, position
        self.events.push_back(event)
        self.pairs[place][pair].count += weight
        self.pairs[place][pair].size += 1
        return 0

    cdef int store(self, size_t place, size_t first) except -1 nogil:
        """Store the positions of the pairs from ``first`` on, and queue them."""
        cdef vector[int32_t] *store = &self.stores[place]
        cdef int64_t end = store.size()
        cdef Untold untold
        cdef Waiting entry
        cdef Pair *pair
        cdef size_t i
        for i in range(first, self.pairs[place].size()):
            pair = &self.pairs[place][i]
            pair.start = end
            end += pair.size
            pair.size = 0
            if self.queued[place] and pair.count >= self.min_count:
                entry.spelling, entry.count, entry.pair = &self.spelling, pair.count, <int32_t>i
                entry.left, entry.right = pair.left, pair.right
                push(self.queues[place], entry, untold)
        store.resize(end)
        for i in range(self.events.size()):
            pair = &self.pairs[place][self.events[i].pair]
            store[0][pair.start + pair.size] = self.events[i].position
            pair.size += 1
        self.events.clear()
        return 0

    cdef int32_t take(self, size_t place) except -2 nogil:
        """Remove the first pair from the queue of a text and return it; -1 if none may be merged."""
        cdef vector[Waiting] *queue = &self.queues[place]
        cdef Untold untold
        cdef Waiting top
        cdef int64_t count
        while queue.size() > 0:
            top = queue[0][0]
            count = self.pairs[place][top.pair].count
            if count == top.count:
                take_out(queue[0], 0, untold)
                return top.pair
            if count >= self.min_count:
                top.count = count
                settle(queue[0], 0, top, untold)
            else:
                take_out(queue[0], 0, untold)
        return -1

    cdef int merge(self, size_t place, int32_t left, int32_t right, int32_t id) except -1 nogil:
        """Replace every occurrence of a pair in a text, from left to right."""
        cdef int32_t merged, position
        cdef size_t first = self.pairs[place].size(), k
        cdef Symbol *symbols = self.symbols[place].data()
        cdef int32_t *positions
        cdef const Slot *slot
        cdef Pair pair
        cdef int64_t i
        if first == 0:
            return 0
        slot = slot_of(&self.numbers[place].table, left, right)
        if slot.left < 0:
            return 0
        merged = slot.value
        pair = self.pairs[place][merged]
        positions = self.stores[place].data()
        for i in range(pair.start, pair.start + pair.size):
            position = positions[i]
            fetch_ahead(symbols, self.pairs[place].data(), merged, positions, i, pair.start + pair.size)
            if symbols[position].pair == merged:
                self.merge_at(place, position, id)
        self.pairs[place][merged].count = 0
        for k in range(first, self.pairs[place].size()):
            left, right = self.pairs[place][k].left, self.pairs[place][k].right
            self.of_left[left] = self.of_right[right] = -1
            number_of(self.numbers[place], left, right, k)
        return self.store(place, first)

    cdef int merge_at(self, size_t place, int32_t position, int32_t id) except -1 nogil:
        cdef Symbol *symbols = self.symbols[place].data()
        cdef Symbol *first = symbols + position
        cdef Symbol *near
        cdef int64_t weight = first.weight
        cdef int32_t before = first.prev, broken = symbols[first.next].pair, after
        self.tokens[place] -= weight
        if before >= 0:
            near = symbols + before
            self.pairs[place][near.pair].count -= weight
            near.pair = self.new_pair(place, near.id, id, self.of_left.data() + near.id)
            self.give(place, near.pair, before, weight)
        if broken >= 0:
            self.pairs[place][broken].count -= weight
        after = swallow(symbols, position, id)
        if after >= 0:
            near = symbols + after
            first.pair = self.new_pair(place, id, near.id, self.of_right.data() + near.id)
            self.give(place, first.pair, position, weight)
        return 0

    cdef inline int32_t new_pair(self, size_t place, int32_t left, int32_t right, int32_t *known) except -1 nogil:
        """Return the pair (left, right), created if necessary and cached in ``known``."""
        if known[0] < 0:
            known[0] = self.add_pair(place, left, right)
        return known[0]

    cdef bint is_worse(self, size_t a, size_t b, bint developed, const double[::1] ratios) noexcept nogil:
        """Return whether language a needs a merge more than language b."""
        cdef size_t n = ratios.shape[0]
        if developed:
            return self.tokens[n + a] > self.tokens[n + b]
        return (
            <double>self.at_start[a] / <double>self.tokens[a] / ratios[a]
            < <double>self.at_start[b] / <double>self.tokens[b] / ratios[b]
        )

    cdef int32_t worst(self, bint developed, const double[::1] ratios) noexcept nogil:
        """Return the first of the languages that need a merge most and are not passed over; -1 if there is none."""
        cdef int32_t worst = -1, language
        for language in range(<int32_t>ratios.shape[0]):
            if not self.passed[language] and (worst < 0 or self.is_worse(language, worst, developed, ratios)):
                worst = language
        return worst

    cdef int32_t choose(
        self, bint developed, int64_t window, double alpha, const double[::1] ratios
    ) except -2 nogil:
        """Return the language of the next merge; -1 if all are exhausted."""
        cdef int32_t first, language
        cdef double n = <double>ratios.shape[0]
        for language in range(<int32_t>self.passed.size()):
            self.passed[language] = self.exhausted[language]
        first = language = self.worst(developed, ratios)
        while window and language >= 0 and <double>self.times[language] / <double>window > alpha / n:
            self.passed[language] = True
            language = self.worst(developed, ratios)
        return first if language < 0 else language

    cdef int remember(self, int32_t language, int64_t window, int64_t *step) except -1 nogil:
        """Put a chosen language into the window."""
        cdef int64_t place
        if window:
            place = step[0] % window
            if step[0] >= window:
                self.times[self.recent[place]] -= 1
                self.recent[place] = language
            else:
                self.recent.push_back(language)
            self.times[language] += 1
            step[0] += 1
        return 0

    cdef int32_t run_all(
        self, vector[int32_t] &merges, vector[int32_t] &chosen, int64_t size, bint developed, int64_t together,
        int64_t window, double alpha, const double[::1] ratios, bint skip,
    ) except? -9 nogil:
        cdef int32_t n = <int32_t>ratios.shape[0], language, pair, left, right, id
        cdef int64_t step = 0
        cdef size_t place
        cdef int32_t i
        for i in range(n):
            self.exhausted.push_back(False)
            self.passed.push_back(False)
            self.times.push_back(0)
            self.at_start.push_back(self.tokens[i])
        while <int64_t>self.spelling.ranks.size() < size:
            if <int64_t>chosen.size() < together:
                language, place = -1, self.tokens.size() - 1
            else:
                language = self.choose(developed, window, alpha, ratios)
                if language < 0:
                    return -2
                place = language
            pair = self.take(place)
            if pair < 0:
                if language < 0 or not skip:
                    return language
                self.exhausted[language] = True
                continue
            if language >= 0:
                self.remember(language, window, &step)
            left, right = self.pairs[place][pair].left, self.pairs[place][pair].right
            id = self.join_symbols(left, right)
            for place in range(self.tokens.size()):
                self.merge(place, left, right, id)
            merges.push_back(left)
            merges.push_back(right)
            chosen.push_back(language)
        return -3

    def run(
        self, int64_t size, bint developed, int64_t together, int64_t window, double alpha,
        const double[::1] ratios, bint skip,
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], int]:
        """Merge until there are ``size`` symbols. Call it once, after all texts were added.

        Args:
            size: Requested number of symbols, including the 256 bytes.
            developed: Whether development sets were added.
            together: Number of first merges that are chosen by the last text.
            window: Number of recent choices that limit the next; 0 for no limit.
            alpha: A language is passed over if its share of the window exceeds ``alpha`` / languages.
            ratios: float64 [languages], wanted compression of each language; used without development sets.
            skip: Whether a language without a pair to merge is left out; if not, training ends.

        Returns:
            merges: int32 [m, 2] of (left, right); the resulting symbols are 256, 257, ...
            chosen: int32 [m], language that each merge was chosen for, or :data:`ALL_TOGETHER`.
            reason: :data:`COMPLETE`, :data:`NO_LANGUAGE`, or the language (:data:`ALL_TOGETHER` for the last text)
                that had no pair to merge.

        Raises:
            OverflowError: there are 2**31 or more symbols or pairs.
            MemoryError: there is not enough memory.
        """
        cdef vector[int32_t] merges, chosen
        cdef int32_t reason
        within(size, "symbols")
        with nogil:
            reason = self.run_all(merges, chosen, size, developed, together, window, alpha, ratios, skip)
        pairs, languages = np.empty((chosen.size(), 2), np.int32), np.empty(chosen.size(), np.int32)
        cdef int32_t[:, ::1] pair = pairs
        cdef int32_t[::1] language = languages
        cdef int64_t i
        for i in range(<int64_t>chosen.size()):
            pair[i, 0], pair[i, 1], language[i] = merges[2 * i], merges[2 * i + 1], chosen[i]
        return pairs, languages, reason

    def token_counts(self) -> list[int]:
        """Return the number of tokens of each text."""
        return [self.tokens[i] for i in range(<int64_t>self.tokens.size())]
