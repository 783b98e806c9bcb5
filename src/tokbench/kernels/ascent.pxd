from libc.stdint cimport int32_t, int64_t, uint8_t

from tokbench.kernels.crew cimport Crew

cdef enum:
    KEEP = 10       # kinds of tasks that every ascent has: to keep potentials of words
    CHOOSE = 11     # to say which tokens are in the vocabulary
    USE = 12        # to note how often each was of late
    AIM = 13        # where prices of words are to move, which is the subclass's to say


cdef class Ascent(Crew):
    cdef int64_t limit, steps, gained, stalled
    cdef double size, bound, best, mu, share
    cdef double[::1] kept, before, usage
    cdef uint8_t[::1] chosen
    cdef double[::1] of_words       # of each word its path's length, then how far its prices are to move
    cdef double[::1] order          # the sums of those that may be let in
    cdef int64_t[::1] at_mu         # of each task, the tokens that are worth as much as the last that are let in
    cdef int64_t to_take            # steps
    cdef double upper               # tokens of the best vocabulary known
    cdef double stride              # how far prices are to move before they are evaluated again
    cdef bint aimed                 # whether they are

    cdef void step(self) noexcept nogil
    cdef void weigh(self) noexcept nogil
    cdef bint fell(self) noexcept nogil
    cdef void move(self) noexcept nogil
    cdef void let_in(self) noexcept nogil
    cdef void choose(self, int32_t task, int64_t first, int64_t last) noexcept nogil
