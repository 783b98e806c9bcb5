from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from tokbench.kernels.pretoken_key cimport Key
from tokbench.kernels.segmenter cimport Scratch
from tokbench.kernels.trie cimport Trie, TrieView


cdef struct Derived:
    # A token, by number: the bytes are 0 to 255, and every other token has a higher number than its parts. The struct
    # is half a cache line, because a token is rarely in the cache when it is read.
    Key key             # of its bytes
    int32_t left        # parts; -1 for a byte
    int32_t right
    int32_t shorter     # longest proper prefix that is a token; -1 for a byte
    int32_t id


cdef struct Place:
    uint32_t tag        # part of the hash
    int32_t number      # number of a token; -1 if the place is empty


cdef struct Table:
    # Hash table of tokens. For each place, ``bits`` has a byte in which every hash of that place has set a bit. Most
    # failed lookups end there, and these bytes fit into a near cache.
    Place* places
    uint8_t* bits


cdef struct DerivedView:
    Derived* tokens
    Table pairs             # by their parts
    # by their bytes, up to INLINE of them; for longer tokens only the bits, by the first INLINE bytes
    Table spelled
    # lengths of the tokens that begin with a given four bytes, one bit each; by the hash of the bytes
    uint16_t* lengths
    const TrieView* trie    # longer tokens, by number
    uint64_t* crossed       # Bloom filter of the bytes around each place inside a token
    int crossed_shift       # 64 minus the binary logarithm of its number of words
    int shift               # 64 minus the binary logarithm of the number of places


cdef int64_t cut_derived(
    const DerivedView* view, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch
) except -1 nogil


cdef class Derivations:
    cdef DerivedView view
    cdef void* owned
    cdef void* crossed
    cdef readonly bint complete
    cdef readonly int32_t count
    cdef Trie trie
    cdef int derive(
        self, const int32_t[:, ::1] merges, const int32_t[::1] byte_ids, bint by_result, int32_t[::1] numbers,
        int64_t results,
    ) except -1
    cdef void cross(self, const uint8_t* text, int left, int right) noexcept nogil
    cdef int spell(self, int32_t[::1] lengths, int64_t total) except -1
    cdef bint are_all_of(self, const TrieView* trie) noexcept nogil
    cdef int32_t walked(self, const TrieView* trie, int32_t node, int32_t number) noexcept nogil
