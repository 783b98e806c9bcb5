from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from tokbench.kernels.gains cimport Entry, Evaluation

cdef extern from *:
    """
    #include <cstdint>
    #include <vector>

    struct Work {                           // scratch memory of a thread
        std::vector<int32_t> places;
        std::vector<int64_t> sums;          // by length, from the group's shortest
        std::vector<int64_t> bounds;
        std::vector<int64_t> heaviest;      // by length, of the places that overlap the last used one
        std::vector<int32_t> free_from;     // by length, end of the last used place
    };
    """
    cppclass Work:
        vector[int32_t] places
        vector[int64_t] sums
        vector[int64_t] bounds
        vector[int64_t] heaviest
        vector[int32_t] free_from


cdef enum:
    UNKNOWN = 0
    APART = 1       # the places of a group's longest substring do not overlap
    OVERLAPPING = 2
    LINKED = 4      # flag: some of the group's places are in long words
    LONG = 64       # words longer than this, in bytes, are long


cdef class Partition:
    cdef const uint8_t[::1] data
    cdef const int64_t[::1] offsets
    cdef const int64_t[::1] counts
    cdef const int32_t[::1] words           # word of each byte
    cdef const int32_t[::1] suffixes
    cdef const int32_t[:, ::1] groups
    # count of the word of each suffix, in order of the suffixes for sequential access
    cdef int64_t[::1] weights
    cdef int32_t[::1] ranks                 # index in ``suffixes`` of the suffix of each byte of a long word
    cdef int32_t[::1] links                 # of each suffix: itself while its place is live, otherwise a later one
    cdef int32_t[::1] tails                 # last cut inside each long word, or its start
    cdef bint cut_first                     # whether a substring must start at a cut
    cdef bint by_length                     # whether a place gains the substring's bytes; otherwise, the cuts inside
    cdef int64_t least                      # with ``by_length``: smallest count of a substring
    cdef vector[uint64_t] cuts              # bit p is the cut before byte p; ends of words are always cuts
    cdef vector[uint64_t] in_long           # bit p: byte p is in a long word
    cdef vector[uint8_t] kinds              # of each group
    cdef vector[vector[int32_t]] in_words   # per part of the suffixes: those in long words, in order
    cdef Work work                          # of the leading thread

    cdef int start(self) except -1 nogil
    cdef object lay_down(self, int64_t part, int64_t first, int64_t last)
    cdef bint is_long(self, int64_t word) noexcept nogil
    cdef bint has_links(self, int64_t place) noexcept nogil
    cdef int32_t alive_from(self, int32_t i) noexcept nogil
    cdef int32_t after(self, int32_t i, bint linked) noexcept nogil
    cdef void kill(self, int64_t place) noexcept nogil
    cdef void join(self, int32_t start, int32_t end, bint linked) noexcept nogil
    cdef void shorten(self, int32_t word) noexcept nogil
    cdef int list_places(self, int32_t group, bint in_order, vector[int32_t]& places) except -1 nogil
    cdef int find_overlaps(self, int32_t group, vector[int32_t]& places) except -1 nogil
    cdef bint may_overlap(self, const uint8_t* spelling, int32_t length) noexcept nogil
    cdef Entry best_of(self, const vector[int64_t]& sums, int32_t group) noexcept nogil
    cdef int evaluate(self, int32_t group, Evaluation* found, Work* work) except -1 nogil
    cdef int evaluate_single(self, int32_t i, Entry* found) except -1 nogil
    cdef int evaluate_apart(self, int32_t i, bint linked, Entry* found, Work* work) except -1 nogil
    cdef int64_t joined_apart(self, int32_t low, int32_t high, int32_t length) except -1 nogil
    cdef int evaluate_overlapping(self, int32_t group, Evaluation* found, Work* work) except -1 nogil
    cdef int apply(self, Entry choice) except -1 nogil
    cdef int64_t most_in_word(self, int64_t length) noexcept nogil
    cdef int64_t most(self, int64_t sum, int64_t longest) noexcept nogil
    cdef int bound_in_words(self, int64_t[::1] reach, int64_t[::1] often) except -1 nogil
