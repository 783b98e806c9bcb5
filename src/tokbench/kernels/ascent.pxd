from libc.stdint cimport int32_t, int64_t, uint8_t

from tokbench.kernels.crew cimport Crew

cdef enum:
    KEEP = 10       # task kinds of every ascent: store the potentials of words
    CHOOSE = 11     # mark the tokens in the vocabulary
    USE = 12        # update the recent usage of tokens
    AIM = 13        # compute the direction of prices of words (defined by the subclass)


cdef class Ascent(Crew):
    cdef int64_t limit, steps, gained, stalled
    cdef double size, bound, best, mu, share
    cdef double[::1] kept, before, usage
    cdef uint8_t[::1] chosen
    cdef double[::1] of_words       # per word: length of its path, then the squared norm of its moves
    cdef double[::1] order          # scratch for the sums of candidate tokens
    cdef int64_t[::1] at_mu         # per task: number of tokens whose price equals the threshold
    cdef int64_t to_take            # steps left
    cdef double upper               # token count of the best known vocabulary
    cdef double stride              # step length of all prices
    cdef bint aimed                 # whether a step is pending

    cdef void step(self) noexcept nogil
    cdef void weigh(self) noexcept nogil
    cdef bint fell(self) noexcept nogil
    cdef void move(self) noexcept nogil
    cdef void let_in(self) noexcept nogil
    cdef void choose(self, int32_t task, int64_t first, int64_t last) noexcept nogil
