# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Text encoding in one pass: scan, look up, and segment new pre-tokens.

Equal pre-tokens have equal segmentations, so each is segmented once and cached in a hash table (see ``pretoken_key``).
A slot is half a cache line with up to three ids, and is read and written at once. Longer segmentations, and the bytes
of pre-tokens longer than a key, are in arenas. The cache is bounded: a full table drops half of its pre-tokens, chosen
by a bit of their hashes, so that a text which recurs still finds the other half.

Pre-tokens are processed in blocks. The memory for a block is prefetched before the first pre-token is looked up, and
all new pre-tokens of a block are segmented together.

Reference: ``encode`` in :mod:`tokbench.reference.segmentation`.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_RawFree, PyMem_RawRealloc
from cython cimport final
from cython.view cimport array as carray
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp, memcpy, memset
from libcpp.vector cimport vector

from tokbench.kernels.exceptions cimport ready_to_throw
from tokbench.kernels.huge cimport want_huge_pages, zeroed
from tokbench.kernels.limits cimport LONGEST
from tokbench.kernels.prefetch cimport prefetch
from tokbench.kernels.pretoken_key cimport INLINE, Key, hash_of, key_of
from tokbench.kernels.scan cimport Scanner
from tokbench.kernels.segmenter cimport Piece, PretokenSegmenter, Scratch, place_of, release
from tokbench.kernels.splitmix cimport hashed

import numpy as np


cdef enum:
    SCANNED = 1024              # pre-tokens scanned at once; scanners look ahead farther with more room
    BLOCK = 256                 # pre-tokens looked up at once
    FIRST_BITS = 12
    FEW = 3                     # maximum number of ids in a slot
    ELSEWHERE = FEW + 1
    AT_ONCE = FEW + 1           # int32 values written per slot, including its last field
    LONG = 256                  # pre-tokens of this many bytes or more are not cached
    BYTES_EACH = 32             # arena capacity per cached pre-token: bytes
    IDS_EACH = 8                # and ids
    SMALL = 1 << 14             # results of up to this many ids are copied, and their memory is used again
    HALVINGS = 16               # low bits of a hash, used in turn to drop pre-tokens; slots depend on the high bits
    BYTES_PER_UNIQUE = 128      # text bytes per unique pre-token, to estimate the size of the table


cdef struct Slot:
    Key key
    int32_t[3] ids      # or: start of the ids in their arena, start of the bytes in theirs, and number of ids
    int32_t tokens      # 0 if the slot is free, ELSEWHERE if the ids are in the arena


cdef struct Table:
    # A hash table with linear probing, at most half full.
    Slot* slots
    void* owned
    int64_t size        # slots, a power of two
    uint64_t mask
    int shift           # 64 less the binary logarithm of the size
    int64_t used


cdef struct Text:
    const uint8_t* data
    int64_t size


cdef struct Ids:
    # Growable memory for ids.
    int32_t* ids
    int64_t written
    int64_t room


cdef struct Fresh:
    # New pre-tokens of a block, in order, each once.
    int64_t count
    Piece[BLOCK] pieces
    (Slot*)[BLOCK] slots


cdef int make_room(Ids* ids, int64_t more) except -1 nogil:
    """Reserve room for ``more`` ids, and for AT_ONCE more as scratch space."""
    cdef int64_t room = ids.written + more + AT_ONCE
    cdef void* memory
    if room > ids.room:
        room += room // 4
        memory = PyMem_RawRealloc(ids.ids, room * sizeof(int32_t))
        if memory == NULL:
            raise MemoryError(f"no memory for ids: they take {room * sizeof(int32_t)} bytes")
        ids.ids = <int32_t*>memory
        ids.room = room
        want_huge_pages(memory, room * sizeof(int32_t))
    return 0


cdef void give_back(void* memory) noexcept:
    PyMem_RawFree(memory)


cdef int open_table(Table* table, int bits) except -1 nogil:
    """Allocate an empty table of 2^bits slots."""
    table.slots = <Slot*>zeroed((<int64_t>1 << bits) * sizeof(Slot), &table.owned)
    table.size = <int64_t>1 << bits
    table.mask = table.size - 1
    table.shift = 64 - bits
    table.used = 0
    return 0


cdef inline Slot* slot_in(
    const Table* table, const vector[uint8_t]* arena, const Key* key, uint64_t place, const uint8_t* text, int64_t length
) noexcept nogil:
    """Return the slot of a cached pre-token, or the free slot where it would be stored."""
    cdef Slot* slot = &table.slots[place]
    while slot.tokens and not (
        slot.key.low == key.low
        and slot.key.high == key.high
        and (length <= INLINE or memcmp(arena.data() + slot.ids[1], text, length) == 0)
    ):
        place = (place + 1) & table.mask
        slot = &table.slots[place]
    return slot


cdef inline void put(Table* table, const Slot* slot) noexcept nogil:
    """Copy a slot into a table that does not have its pre-token."""
    cdef uint64_t place = hash_of(slot.key) >> table.shift
    while table.slots[place].tokens:
        place = (place + 1) & table.mask
    table.slots[place] = slot[0]
    table.used += 1


cdef inline int64_t size_of(Key key) noexcept nogil:
    """Return the number of bytes of a key's pre-token."""
    cdef int64_t size = <int64_t>(key.high >> 56)
    return size if size <= INLINE else <int64_t>(key.high & (<uint64_t>(-1) >> 8))


cdef array_of(Ids* ids):
    """Return the ids as int32 [tokens]. A large array owns their memory; a small one is a copy."""
    cdef carray owner
    cdef void* trimmed
    cdef Py_buffer target
    if ids.written <= SMALL:
        array = np.empty(ids.written, np.int32)
        PyObject_GetBuffer(array, &target, PyBUF_SIMPLE | PyBUF_WRITABLE)
        memcpy(target.buf, ids.ids, ids.written * sizeof(int32_t))
        PyBuffer_Release(&target)
        return array
    owner = carray((ids.written,), sizeof(int32_t), "i", allocate_buffer=False)
    trimmed = PyMem_RawRealloc(ids.ids, ids.written * sizeof(int32_t))
    owner.data = <char*>(trimmed if trimmed != NULL else ids.ids)
    owner.callback_free_data = give_back
    ids.ids = NULL
    ids.room = 0
    return np.asarray(owner)


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
                    make_room(&ids, total // 4)
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
                    make_room(ids, (end - start) // 4)
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
            make_room(ids, more)
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
            self.halve()
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

    cdef inline int expect(self, int64_t pretokens) except -1 nogil:
        """Grow the table for a number of pre-tokens, at most the maximum of the cache."""
        if 2 * min(pretokens, self.most + BLOCK) > self.table.size:
            self.grow(2 * min(pretokens, self.most + BLOCK))
        return 0

    cdef int grow(self, int64_t slots) except -1 nogil:
        cdef Table wider
        cdef int64_t i
        cdef int bits = 64 - self.table.shift
        while <int64_t>1 << bits < slots:
            bits += 1
        open_table(&wider, bits)
        for i in range(self.table.size if self.table.used else 0):
            if self.table.slots[i].tokens:
                put(&wider, &self.table.slots[i])
        PyMem_RawFree(self.table.owned)
        self.table = wider
        return 0

    cdef int halve(self) except -1 nogil:
        """Keep the pre-tokens whose hash has a certain bit set; a different bit each time."""
        cdef Table table
        cdef vector[uint8_t] arena
        cdef vector[int32_t] id_arena
        cdef Slot slot
        cdef int64_t i, start
        open_table(&table, 64 - self.table.shift)
        try:
            arena.reserve(self.arena.size() // 2)
            id_arena.reserve(self.id_arena.size() // 2)
            for i in range(self.table.size):
                slot = self.table.slots[i]
                if not slot.tokens or not hash_of(slot.key) >> self.halvings & 1:
                    continue
                if slot.tokens == ELSEWHERE:
                    start = slot.ids[0]
                    slot.ids[0] = <int32_t>id_arena.size()
                    id_arena.insert(
                        id_arena.end(), self.id_arena.data() + start, self.id_arena.data() + start + slot.ids[2]
                    )
                    if size_of(slot.key) > INLINE:
                        start = slot.ids[1]
                        slot.ids[1] = <int32_t>arena.size()
                        arena.insert(
                            arena.end(), self.arena.data() + start, self.arena.data() + start + size_of(slot.key)
                        )
                put(&table, &slot)
            PyMem_RawFree(self.table.owned)
            self.table = table
            table.owned = NULL
            self.arena.swap(arena)
            self.id_arena.swap(id_arena)
            self.halvings = (self.halvings + 1) % HALVINGS
            self.full = False
        finally:
            PyMem_RawFree(table.owned)
        return 0
