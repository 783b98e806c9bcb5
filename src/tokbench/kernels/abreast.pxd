# Interleaved merging of short pre-tokens: while the pairs of one are fetched from memory, the others proceed. A pair is
# looked up in one entry of eight bytes, whose address is known before anything is read.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from tokbench.kernels.derivations cimport Derivations
from tokbench.kernels.prefetch cimport prefetch

cdef extern from *:
    int __builtin_ctzll(uint64_t word) noexcept nogil
    int __builtin_clzll(uint64_t word) noexcept nogil


cdef enum:
    NUMBER_BITS = 21
    # no token: before the first and after the last one, and the result of most pairs
    NOTHING = (1 << NUMBER_BITS) - 1
    PLACE_BITS = 6
    NEVER = NOTHING << PLACE_BITS       # keys from here on are not merged
    MOST_BYTES = 62                     # longest pre-token, in bytes
    NOWHERE = 64                        # a place that is never read
    NO_PAIR = -1                        # a pair without an entry


cdef struct BytePair:
    # Two adjacent bytes a and b.
    int32_t number          # token made of both
    int32_t from_left       # lowest token made of a token that ends with a, and of b
    int32_t from_right      # lowest token made of a, and of a token that begins with b
    int32_t nothing


cdef struct AbreastView:
    const uint64_t* entries         # pairs: left, right and result, NUMBER_BITS each
    const uint8_t* turns            # turn of the second hash, by the first hash
    const BytePair* of_bytes        # [65536], by 256 a + b
    const int32_t* ids              # ids of tokens by number,
    int32_t listed                  # for this many numbers; each later id is the number
    int32_t further                 # plus this offset
    uint64_t size                   # number of entries
    int turn_shift                  # 64 minus the binary logarithm of the number of turns


cdef struct Asked:
    # A pair being fetched from memory.
    uint64_t pair
    const uint64_t* entry
    int64_t place


cdef struct Lane:
    # A pre-token being merged. Place i is its byte i; a token is at the place of its first byte.
    int32_t[65] keys                # result of the token at the place and the next token, and the place in the low bits
    uint32_t[64] numbers            # tokens, shifted by one place
    uint64_t live                   # places with a token, shifted by one place, with a sentinel bit at either end
    Asked after                     # pair of the last made token and the next one
    Asked before                    # pair of the token before it and the last made token
    int64_t size
    int64_t width                   # places among which the lowest key is searched


cdef inline uint64_t hash_of_pair(uint64_t pair) noexcept nogil:
    cdef uint64_t hashed = pair * <uint64_t>0x9E3779B97F4A7C15
    return hashed ^ hashed >> 32


cdef inline uint64_t turn_of(const AbreastView* view, uint64_t hashed) noexcept nogil:
    return hashed * <uint64_t>0x9FB21C651E98DF25 >> view.turn_shift


cdef inline uint64_t entry_of(const AbreastView* view, uint64_t hashed, uint64_t turn) noexcept nogil:
    return ((hashed * <uint64_t>0xD6E8FEB86659FD93) * (2 * turn + 1) >> 32) * view.size >> 32


cdef inline void ask(Asked* asked, const AbreastView* view, uint64_t left, uint64_t right, int64_t place) noexcept nogil:
    """Prefetch the result of two tokens; the first is at ``place``."""
    cdef uint64_t pair = left << NUMBER_BITS | right, hashed = hash_of_pair(pair)
    asked.pair = pair
    asked.entry = &view.entries[entry_of(view, hashed, view.turns[turn_of(view, hashed)])]
    asked.place = place
    prefetch(asked.entry)


cdef inline int32_t made(const Asked* asked) noexcept nogil:
    """Return the number of the token made of a pair; NOTHING if there is none."""
    cdef uint64_t entry = asked.entry[0]
    return <int32_t>(entry & NOTHING) if entry >> NUMBER_BITS == asked.pair else <int32_t>NOTHING


cdef inline uint64_t certain(Lane* lane, const AbreastView* view, const uint8_t* text, int64_t size) noexcept nogil:
    """Return the places whose byte pair is merged first in any case: no token that could use either byte has a lower
    rank.

    No two of these places are adjacent. Also writes the keys of all places.
    """
    cdef uint64_t places = 0
    cdef int32_t from_left = NOTHING
    cdef const BytePair* pair = &view.of_bytes[<int32_t>text[0] << 8 | text[1]]
    cdef const BytePair* behind
    cdef int64_t i
    for i in range(size - 2):
        behind = &view.of_bytes[<int32_t>text[i + 1] << 8 | text[i + 2]]
        places |= <uint64_t>((pair.number < from_left) & (pair.number < behind.from_right)) << i
        lane.keys[i] = pair.number << PLACE_BITS | <int32_t>i
        from_left = pair.from_left
        pair = behind
    lane.keys[size - 2] = pair.number << PLACE_BITS | <int32_t>(size - 2)
    return places | <uint64_t>(pair.number < from_left) << (size - 2)


cdef inline void begin(Lane* lane, const AbreastView* view, const uint8_t* text, int64_t size) noexcept nogil:
    """Start a pre-token of 1 to MOST_BYTES bytes."""
    cdef Asked[MOST_BYTES + 2] asked
    cdef uint64_t merged = certain(lane, view, text, size) if size > 1 else 0, left = merged
    cdef int64_t i, asks = 0
    cdef int place, next_place, last_place
    lane.size = size
    lane.width = 16 if size <= 16 else 32 if size <= 32 else 64
    lane.numbers[0] = lane.numbers[size + 1] = NOTHING
    for i in range(size):
        lane.numbers[i + 1] = text[i]
    for i in range(size - 1, lane.width):
        lane.keys[i] = NEVER
    lane.live = ((<uint64_t>4 << size) - 1) ^ merged << 2
    lane.after.pair = lane.before.pair = NO_PAIR
    lane.after.entry = lane.before.entry = view.entries
    lane.after.place = lane.before.place = NOWHERE
    while left:
        place = __builtin_ctzll(left)
        lane.numbers[place + 1] = lane.keys[place] >> PLACE_BITS
        lane.keys[place + 1] = NEVER
        left &= left - 1
    left = merged
    while left:
        place = __builtin_ctzll(left)
        left &= left - 1
        next_place = place + 2
        ask(&asked[asks], view, lane.numbers[place + 1], lane.numbers[next_place + 1], place)
        asks += 1
        last_place = 62 - __builtin_clzll(lane.live & ((<uint64_t>2 << place) - 1))
        # Ask always and count conditionally; a branch here would be mispredicted.
        ask(&asked[asks], view, lane.numbers[last_place + 1], lane.numbers[place + 1], last_place)
        asks += (last_place >= 0) & ~(merged << 1 >> (last_place + 1)) & 1
    for i in range(asks):
        lane.keys[asked[i].place] = made(&asked[i]) << PLACE_BITS | <int32_t>asked[i].place


cdef inline int32_t lowest(const int32_t* keys, int64_t width) noexcept nogil:
    """Return the minimum of 16, 32 or 64 keys, eight at a time."""
    cdef int32_t[8] least
    cdef int64_t i, k
    for k in range(8):
        least[k] = min(keys[k], keys[k + 8])
    for i in range(16, width, 16):
        for k in range(8):
            least[k] = min(least[k], min(keys[i + k], keys[i + k + 8]))
    for k in range(4):
        least[k] = min(least[k], least[k + 4])
    return min(min(least[0], least[1]), min(least[2], least[3]))


cdef inline bint merge_once(Lane* lane, const AbreastView* view) noexcept nogil:
    """Store the results asked for and merge the leftmost pair of the lowest rank; return False if there is none."""
    cdef int32_t key, number, after, before
    cdef int place, gone, next_place, last_place
    cdef uint64_t behind
    after = made(&lane.after) << PLACE_BITS | <int32_t>lane.after.place
    before = made(&lane.before) << PLACE_BITS | <int32_t>lane.before.place
    # Write the two keys after reading all keys: a wide load of narrow recent stores stalls.
    key = min(lowest(lane.keys, lane.width), min(after, before))
    lane.keys[lane.after.place] = after
    lane.keys[lane.before.place] = before
    if key >= NEVER:
        return False
    number = key >> PLACE_BITS
    place = key & ((1 << PLACE_BITS) - 1)
    behind = lane.live >> (place + 2)
    gone = place + 1 + __builtin_ctzll(behind)
    next_place = place + 1 + __builtin_ctzll(behind & (behind - 1))
    last_place = 62 - __builtin_clzll(lane.live & ((<uint64_t>2 << place) - 1))
    ask(&lane.after, view, number, lane.numbers[next_place + 1], place)
    ask(&lane.before, view, lane.numbers[last_place + 1], number, last_place if last_place >= 0 else NOWHERE)
    lane.live ^= <uint64_t>2 << gone
    lane.numbers[place + 1] = number
    lane.keys[gone] = lane.keys[lane.after.place] = lane.keys[lane.before.place] = NEVER
    return True


cdef inline int64_t write(const Lane* lane, const AbreastView* view, int32_t* ids) noexcept nogil:
    """Write the ids of the merged pre-token and return their number."""
    cdef uint64_t left = lane.live & ((<uint64_t>2 << lane.size) - 2)
    cdef int64_t count = 0
    cdef int32_t number, listed
    while left:
        number = lane.numbers[__builtin_ctzll(left)]
        listed = view.ids[number if number < view.listed else 0]
        ids[count] = listed if number < view.listed else number + view.further
        count += 1
        left &= left - 1
    return count


cdef class Abreast:
    cdef AbreastView view
    cdef readonly bint complete
    cdef object arrays
    cdef int put_bytes(self, Derivations derivations, int32_t[:, ::1] of_bytes) except -1
    cdef bint put(self, uint64_t[::1] pairs, const int64_t[::1] starts, uint64_t[::1] entries, uint8_t[::1] turns) noexcept nogil
