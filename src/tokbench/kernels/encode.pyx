# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Text encoding in one pass: scan, look up, and segment new pre-tokens.

Equal pre-tokens have equal segmentations, so each is segmented once and cached (see ``pretoken_cache``).

Pre-tokens are processed in blocks. The memory for a block is prefetched before the first pre-token is looked up, and
all new pre-tokens of a block are segmented together.

Reference: ``encode`` in :mod:`tokbench.reference.segmentation`.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_RawFree
from cython cimport final
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset
from libcpp.vector cimport vector

from tokbench.kernels.exceptions cimport ready_to_throw
from tokbench.kernels.id_buffer cimport SMALL, Ids, array_of, make_room
from tokbench.kernels.limits cimport LONGEST
from tokbench.kernels.prefetch cimport prefetch
from tokbench.kernels.pretoken_cache cimport (
    AT_ONCE, ELSEWHERE, FEW, HALVINGS, Slot, Table, halve, open_table, slot_in, widen
)
from tokbench.kernels.pretoken_key cimport INLINE, Key, hash_of, key_of
from tokbench.kernels.scan cimport Scanner
from tokbench.kernels.segmenter cimport Piece, PretokenSegmenter, Scratch, place_of, release
from tokbench.kernels.splitmix cimport hashed

import numpy as np


cdef enum:
    SCANNED = 1024              # pre-tokens scanned at once; scanners look ahead farther with more room
    BLOCK = 256                 # pre-tokens looked up at once
    FIRST_BITS = 12
    LONG = 256                  # pre-tokens of this many bytes or more are not cached
    BYTES_EACH = 32             # arena capacity per cached pre-token: bytes
    IDS_EACH = 8                # and ids
    BYTES_PER_UNIQUE = 128      # text bytes per unique pre-token, to estimate the size of the table


cdef struct Text:
    const uint8_t* data
    int64_t size


cdef struct Fresh:
    # New pre-tokens of a block, in order, each once.
    int64_t count
    Piece[BLOCK] pieces
    (Slot*)[BLOCK] slots


def document_number(const uint8_t[::1] text not None) -> int:
    """Return the number that identifies a document in methods that draw at random: a hash of its bytes."""
    cdef uint64_t number
    with nogil:
        number = hashed(&text[0] if text.shape[0] else NULL, text.shape[0])
    return number


@final
cdef class Encoder:
    """Encoder of texts. Not thread-safe.

    The cache never changes a result, and an error leaves it unchanged. It is not used with segmenters that are
    ``placed``.

    Args:
        scanner: Scanner that splits texts into pre-tokens.
        segmenter: Segmenter of pre-tokens.
        remembered: Maximum number of cached pre-tokens, 1 to 2^25, which need up to 256 bytes each (default: 800,000).
        numbers: int32 [tokens], output id for each of the segmenter's ids (default: None, the ids themselves).

    Raises:
        ValueError: ``remembered`` is not 1 to 2^25.
    """

    cdef Scanner scanner
    cdef PretokenSegmenter segmenter
    cdef Table table
    cdef vector[uint8_t] arena
    cdef vector[int32_t] id_arena
    cdef vector[int32_t] fresh_ids
    cdef Ids spare          # memory of small results
    cdef int64_t most
    cdef int halvings
    cdef bint full
    cdef const int32_t[::1] numbers

    def __cinit__(
        self,
        Scanner scanner not None,
        PretokenSegmenter segmenter not None,
        int64_t remembered=800_000,
        numbers: NDArray[np.int32] | None = None,
    ):
        if not 1 <= remembered <= 1 << 25:
            raise ValueError(f"remembered must be 1 to {1 << 25}, not {remembered}")
        self.scanner = scanner
        self.segmenter = segmenter
        self.numbers = numbers
        self.most = remembered
        self.halvings = 0
        self.full = False
        open_table(&self.table, FIRST_BITS)

    def __dealloc__(self):
        PyMem_RawFree(self.table.owned)
        PyMem_RawFree(self.spare.ids)

    def __len__(self) -> int:
        """Return the number of cached pre-tokens."""
        return self.table.used

    def encode(
        self, bytes text not None, int64_t start=0, end: int | None = None, document: int | None = None
    ) -> NDArray[np.int32]:
        """Return the ids of a text, or of the part between two of its boundaries.

        Args:
            text: Any bytes.
            start: Start of the part (default: 0).
            end: End of the part (default: end of the text).
            document: 64-bit number of the document, for segmenters that are ``placed`` (default: the text's
                :func:`document_number`).

        Returns:
            int32 [tokens].

        Raises:
            ValueError: a pre-token has 2 GiB or more, or the part is not inside the text.
            MemoryError: there is not enough memory.
        """
        cdef Ids ids = self.spare
        ids.written = 0
        self.spare = Ids(NULL, 0, 0)
        try:
            self.run(text, start, PyBytes_GET_SIZE(text) if end is None else end, document, &ids, True)
            return array_of(&ids)
        finally:
            self.keep(&ids)

    def encode_all(self, list texts not None) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Encode several texts in one call without the GIL.

        Args:
            texts: Texts, each of them ``bytes``. The list must not change during the call.

        Returns:
            ids: int32 [tokens], concatenated ids of the texts.
            bounds: int64 [texts + 1], start of each text's ids; the last entry is the end of the last ones.

        Raises:
            TypeError: a text is not ``bytes``.
            ValueError: a pre-token has 2 GiB or more.
            MemoryError: there is not enough memory.
        """
        cdef Ids ids = self.spare
        cdef vector[Text] views
        cdef Scratch scratch = Scratch(NULL, 0)
        cdef int64_t i, n = len(texts), total = 0
        cdef uint64_t number
        bounds = np.zeros(n + 1, np.int64)
        cdef int64_t[::1] ends = bounds
        cdef Text view
        cdef bytes text
        views.reserve(n)
        for i in range(n):
            text = texts[i]
            if text is None:
                raise TypeError("a text is None; give bytes")
            view.data, view.size = <const uint8_t*>PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text)
            views.push_back(view)
            total += view.size
        ids.written = 0
        self.spare = Ids(NULL, 0, 0)
        ready_to_throw()
        try:
            with nogil:
                try:
                    make_room(&ids, total // 4, AT_ONCE)
                    for i in range(n):
                        view = views[i]
                        number = hashed(view.data, view.size) if self.segmenter.placed else 0
                        self.encode_part(view.data, 0, view.size, view.data + view.size, number, &ids, True, &scratch)
                        ends[i + 1] = ids.written
                finally:
                    release(&scratch)
            return array_of(&ids), bounds
        finally:
            self.keep(&ids)

    def count(self, bytes text not None, int64_t start=0, end: int | None = None, document: int | None = None) -> int:
        """Return the number of tokens of a text without storing them; otherwise like :meth:`encode`."""
        cdef Ids ids = self.spare
        ids.written = 0
        self.spare = Ids(NULL, 0, 0)
        try:
            return self.run(text, start, PyBytes_GET_SIZE(text) if end is None else end, document, &ids, False)
        finally:
            self.keep(&ids)

    cdef int keep(self, Ids* ids) noexcept:
        """Keep the memory of a small result for the next one and free that of a large one."""
        if ids.room > 2 * SMALL:
            PyMem_RawFree(ids.ids)
        else:
            PyMem_RawFree(self.spare.ids)
            self.spare = ids[0]
        return 0

    cdef int64_t run(
        self, bytes text, int64_t start, int64_t end, document, Ids* ids, bint keep
    ) except -1:
        cdef const uint8_t* data = <const uint8_t*>PyBytes_AS_STRING(text)
        cdef int64_t size = PyBytes_GET_SIZE(text), tokens
        cdef uint64_t number = 0
        cdef Scratch scratch = Scratch(NULL, 0)
        if not 0 <= start <= end <= size:
            raise ValueError(f"no part {start}:{end} in a text of {size} bytes")
        if self.segmenter.placed:
            number = document_number(text) if document is None else document
        ready_to_throw()
        with nogil:
            try:
                if keep:
                    make_room(ids, (end - start) // 4, AT_ONCE)
                tokens = self.encode_part(data, start, end, data + size, number, ids, keep, &scratch)
            finally:
                release(&scratch)
        return tokens

    cdef int64_t encode_part(
        self,
        const uint8_t* data,
        int64_t start,
        int64_t end,
        const uint8_t* limit,
        uint64_t document,
        Ids* ids,
        bint keep,
        Scratch* scratch,
    ) except -1 nogil:
        cdef int64_t bounds[SCANNED + 1]
        cdef int64_t found, i, more, tokens = 0, first = start, before = ids.written
        self.expect((end - start) // BYTES_PER_UNIQUE)
        while start < end:
            bounds[0] = start
            found = self.scanner.next_boundaries(data, start, end, bounds + 1, SCANNED)
            more = bounds[found] - start
            if ids.written + more + AT_ONCE > ids.room and start > first:
                more = max(
                    more, min(end - start, <int64_t>(<double>(ids.written - before) / (start - first) * (end - start)))
                )
            make_room(ids, more, AT_ONCE)
            if self.segmenter.placed:
                for i in range(found):
                    self.cut(data, bounds[i], bounds[i + 1], place_of(document, bounds[i]), ids, scratch)
            else:
                i = 0
                while i < found:
                    self.encode_block(data, bounds + i, min(found - i, <int64_t>BLOCK), limit, ids, scratch)
                    i += BLOCK
            start = bounds[found]
            if not keep:
                tokens += ids.written
                ids.written = 0
        return tokens + ids.written

    cdef inline int64_t cut(
        self, const uint8_t* data, int64_t start, int64_t end, uint64_t place, Ids* ids, Scratch* scratch
    ) except -1 nogil:
        """Write the ids of a pre-token and return their number."""
        cdef int64_t more, i
        cdef int32_t* cut = ids.ids + ids.written
        if end - start > LONGEST:
            raise ValueError(f"a pre-token has {end - start} bytes, more than {LONGEST}")
        if self.segmenter.placed:
            more = self.segmenter.cut_at(data + start, end - start, cut, scratch, place)
        else:
            more = self.segmenter.cut(data + start, end - start, cut, scratch)
        if self.numbers is not None:
            for i in range(more):
                cut[i] = self.numbers[cut[i]]
        ids.written += more
        return more

    cdef int encode_block(
        self, const uint8_t* data, const int64_t* bounds, int64_t n, const uint8_t* limit, Ids* ids, Scratch* scratch
    ) except -1 nogil:
        cdef Key keys[BLOCK]
        cdef uint64_t places[BLOCK]
        cdef int64_t i
        cdef const Slot* slots
        cdef const Slot* slot
        cdef int32_t* written
        cdef int shift
        if self.full:
            halve(&self.table, self.arena, self.id_arena, self.halvings)
            self.halvings = (self.halvings + 1) % HALVINGS
            self.full = False
        self.expect(self.table.used + BLOCK)
        slots, shift = self.table.slots, self.table.shift
        for i in range(n):
            keys[i] = key_of(data + bounds[i], bounds[i + 1] - bounds[i], limit)
            places[i] = hash_of(keys[i]) >> shift
            prefetch(&slots[places[i]])
        written = ids.ids + ids.written
        i = 0
        while i < n:
            slot = &slots[places[i]]
            if slot.key.low == keys[i].low and slot.key.high == keys[i].high and slot.tokens <= FEW:
                memcpy(written, slot.ids, AT_ONCE * sizeof(int32_t))
                written += slot.tokens
                i += 1
                continue
            ids.written = written - ids.ids
            slot = slot_in(&self.table, &self.arena, &keys[i], places[i], data + bounds[i], bounds[i + 1] - bounds[i])
            if not slot.tokens:
                return self.encode_rest(data, bounds + i, keys + i, places + i, n - i, ids, scratch)
            self.recall(slot, ids)
            written = ids.ids + ids.written
            i += 1
        ids.written = written - ids.ids
        return 0

    cdef int encode_rest(
        self, const uint8_t* data, const int64_t* bounds, const Key* keys, const uint64_t* places, int64_t n, Ids* ids,
        Scratch* scratch,
    ) except -1 nogil:
        """Encode from the first new pre-token on. All new pre-tokens are cached before any ids are written."""
        cdef const Slot* slots[BLOCK]       # NULL if a pre-token is not cached
        cdef const Slot* slot
        cdef Fresh fresh
        cdef int64_t i, size, bytes = self.arena.size(), id_count = self.id_arena.size()
        cdef bint learnt = False
        fresh.count = 0
        try:
            for i in range(n):
                slot = &self.table.slots[places[i]]
                slots[i] = slot
                if slot.key.low == keys[i].low and slot.key.high == keys[i].high and slot.tokens <= FEW:
                    continue
                size = bounds[i + 1] - bounds[i]
                slot = slot_in(&self.table, &self.arena, &keys[i], places[i], data + bounds[i], size)
                slots[i] = slot
                if slot.tokens:
                    continue
                if size >= LONG or self.table.used + fresh.count == self.most:
                    slots[i] = NULL
                else:
                    self.enter(&keys[i], <Slot*>slot, data + bounds[i], size, &fresh)
            self.learn(&fresh, scratch)
            learnt = True
        finally:
            if not learnt:
                for i in range(fresh.count):
                    memset(fresh.slots[i], 0, sizeof(Slot))
                self.arena.resize(bytes)
                self.id_arena.resize(id_count)
        for i in range(n):
            if slots[i] == NULL:
                self.cut(data, bounds[i], bounds[i + 1], 0, ids, scratch)
            else:
                self.recall(slots[i], ids)
        return 0

    cdef inline int expect(self, int64_t pretokens) except -1 nogil:
        """Grow the table for a number of pre-tokens, at most the maximum of the cache."""
        return widen(&self.table, 2 * min(pretokens, self.most + BLOCK))

    cdef inline void recall(self, const Slot* slot, Ids* ids) noexcept nogil:
        """Write the ids of a cached pre-token."""
        if slot.tokens <= FEW:
            memcpy(ids.ids + ids.written, slot.ids, AT_ONCE * sizeof(int32_t))
            ids.written += slot.tokens
        else:
            memcpy(ids.ids + ids.written, &self.id_arena[slot.ids[0]], slot.ids[2] * sizeof(int32_t))
            ids.written += slot.ids[2]

    cdef inline int enter(
        self, const Key* key, Slot* slot, const uint8_t* text, int64_t size, Fresh* fresh
    ) except -1 nogil:
        """Reserve a free slot for a pre-token whose ids are not known yet."""
        if size > INLINE:
            slot.ids[1] = <int32_t>self.arena.size()
            self.arena.insert(self.arena.end(), text, text + size)
        slot.key = key[0]
        slot.tokens = ELSEWHERE
        fresh.slots[fresh.count] = slot
        fresh.pieces[fresh.count].text = text
        fresh.pieces[fresh.count].size = size
        fresh.count += 1
        return 0

    cdef int learn(self, Fresh* fresh, Scratch* scratch) except -1 nogil:
        """Segment the new pre-tokens and store their ids in their slots."""
        cdef int64_t i, total = 0
        cdef const Piece* piece
        cdef const int32_t* cut
        cdef Slot* slot
        for i in range(fresh.count):
            total += fresh.pieces[i].size
        if <int64_t>self.fresh_ids.size() < total:
            self.fresh_ids.resize(total)
        total = self.segmenter.cut_all(fresh.pieces, fresh.count, self.fresh_ids.data(), scratch)
        if self.numbers is not None:
            for i in range(total):
                self.fresh_ids[i] = self.numbers[self.fresh_ids[i]]
        cut = self.fresh_ids.data()
        for i in range(fresh.count):
            piece, slot = &fresh.pieces[i], fresh.slots[i]
            if piece.count <= FEW and piece.size <= INLINE:
                memcpy(slot.ids, cut, piece.count * sizeof(int32_t))
                slot.tokens = <int32_t>piece.count
            else:
                slot.ids[0] = <int32_t>self.id_arena.size()
                slot.ids[2] = <int32_t>piece.count
                self.id_arena.insert(self.id_arena.end(), cut, cut + piece.count)
            cut += piece.count
        self.table.used += fresh.count
        self.full = (
            self.table.used >= self.most
            or <int64_t>self.arena.size() >= self.most * BYTES_EACH
            or <int64_t>self.id_arena.size() >= self.most * IDS_EACH
        )
        return 0
