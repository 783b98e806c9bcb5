from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from tokbench.kernels.pretoken_key cimport Key
from tokbench.kernels.segmenter cimport Scratch
from tokbench.kernels.trie cimport Trie, TrieView


cdef struct Derived:
    # A token, by number: the bytes are 0 to 255, and every other token is numbered later than its parts. All of it
    # lies in half a cache line, as whatever is asked of a token is asked for the first time in a while.
    Key key             # of its bytes
    int32_t left        # parts; -1 for a byte
    int32_t right
    int32_t shorter     # the longest other token that it begins with; -1 for a byte
    int32_t id


cdef struct Place:
    uint32_t tag        # of the hash
    int32_t number      # of a token; -1 where the place is empty


cdef struct Table:
    # Tokens by a hash, and for each place a byte in which every hash that belongs there has set a bit: what is not in
    # the table mostly ends there, and all these bytes together stay in a near cache.
    Place* places
    uint8_t* bits


cdef struct DerivedView:
    Derived* tokens
    Table pairs             # by their parts
    Table spelled           # by their bytes, up to INLINE of them; of longer ones only the bits, by the first INLINE
    uint16_t* lengths       # of tokens that begin with some four bytes, a bit each; by the hash of these
    const TrieView* trie    # of the longer ones, by number
    int shift               # 64 less the binary logarithm of the number of places


cdef int64_t cut_derived(
    const DerivedView* view, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch
) except -1 nogil


cdef class Derivations:
    cdef DerivedView view
    cdef void* owned
    cdef readonly bint complete
    cdef readonly int32_t count
    cdef Trie trie
    cdef int derive(
        self, const int32_t[:, ::1] merges, const int32_t[::1] byte_ids, bint by_result, int32_t[::1] numbers,
        int64_t results,
    ) except -1
    cdef int spell(self, int32_t[::1] lengths, int64_t total) except -1
    cdef bint are_all_of(self, const TrieView* trie) noexcept nogil
    cdef int32_t walked(self, const TrieView* trie, int32_t node, int32_t number) noexcept nogil
