# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Greedy choice of substrings that join the most adjacent bytes of counted words: what GreedTok and GreedWMC share.

Lim, Choo and Lauw, "A partition cover approach to tokenization" (2025), sections 3 and 4. The state is one bit for each
cut between adjacent bytes; joining clears it. What a substring joins at one place only shrinks, so that what it could
join at most bounds its gain from above, and only substrings with the greatest bounds are looked at again. Substrings
with the same places are kept as one group, whose bound is that of the best of its lengths. Places in long words where
nothing can be joined any more are passed over by links.

A look at a group takes steps for its places with something left to join and for the cuts there that a token may end at,
and one for 64 other cuts; in one word of n bytes no more than n for each look.

Reference: :mod:`tokbench.reference.greedtok`.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from tokbench.kernels.cuts cimport cuts_from, leading_zeros, trailing_zeros
from tokbench.kernels.exceptions cimport ready_to_throw
from tokbench.kernels.gains cimport Entry, Evaluation, pop, precedes, push

from tokbench.parallel import mapped

cdef enum:
    UNKNOWN = 0
    APART = 1       # the places of a group's longest substring do not overlap
    OVERLAPPING = 2
    LINKED = 4      # beside one of these: some of a group's places lie in long words
    LONG = 64       # bytes of the longest word that is not long
    LEVELS = 944            # of bounds below 2^62: sixteen for each power of two
    PARTS = 16              # of the text
    MOST_TOGETHER = 64      # groups of the heap that are evaluated together
    WAITING = 0             # kinds of tasks: to bound some of the groups that wait
    WHOLE = 1               # to evaluate a group
    DIVIDED = 2             # to go through some of its places

cdef extern from *:
    """
    /* Links are shortened by whoever follows them: each of two threads leaves one that leads to the same end. */
    static inline int32_t loaded(const int32_t *from) { return __atomic_load_n(from, __ATOMIC_RELAXED); }
    static inline void stored(int32_t *to, int32_t link) { __atomic_store_n(to, link, __ATOMIC_RELAXED); }
    """
    int32_t loaded(const int32_t* link) noexcept nogil
    void stored(int32_t* link, int32_t to) noexcept nogil


cdef inline int32_t level_of(int64_t gain) noexcept nogil:
    cdef int power
    if gain < 16:
        return <int32_t>gain
    power = 63 - leading_zeros(<uint64_t>gain)
    return (power - 3) * 16 + <int32_t>(gain >> (power - 4)) - 16


cdef inline int64_t most_of(int32_t level) noexcept nogil:
    """The greatest gain on a level."""
    if level < 16:
        return level
    return ((<int64_t>(level % 16) + 17) << (level // 16 - 1)) - 1


cdef class Partition:
    """The cuts between bytes, and a bound for each group of substrings; an objective says what a substring joins."""

    cdef int start(self) except -1 nogil:
        """Set all cuts, and find the long words."""
        cdef int64_t word, place
        self.cuts.resize((self.data.shape[0] >> 6) + 3, ~<uint64_t>0)
        self.in_long.resize(self.cuts.size())
        self.kinds.resize(self.groups.shape[0], UNKNOWN)
        for word in range(self.counts.shape[0]):
            if self.is_long(word):
                self.tails[word] = <int32_t>self.offsets[word + 1] - 1
                for place in range(self.offsets[word], self.offsets[word + 1]):
                    self.in_long[place >> 6] |= <uint64_t>1 << (place & 63)
        self.links[self.suffixes.shape[0]] = <int32_t>self.suffixes.shape[0]
        return 0

    cdef object lay_down(self, int64_t first, int64_t last):
        """Note what is known of some suffixes from the start."""
        cdef int64_t i
        with nogil:
            for i in range(first, last):
                self.links[i] = <int32_t>i
                self.weights[i] = self.counts[self.words[self.suffixes[i]]]
                if self.has_links(self.suffixes[i]):
                    self.ranks[self.suffixes[i]] = <int32_t>i

    cdef bint is_long(self, int64_t word) noexcept nogil:
        return self.offsets[word + 1] - self.offsets[word] > LONG

    cdef bint has_links(self, int64_t place) noexcept nogil:
        """Whether a place lies in a long word."""
        return self.in_long[place >> 6] >> (place & 63) & 1

    cdef int32_t alive_from(self, int32_t i) noexcept nogil:
        """The first suffix at or after the i-th whose place is alive, or how many suffixes there are."""
        cdef int32_t further = loaded(&self.links[i])
        while further != i:
            further = loaded(&self.links[further])
            stored(&self.links[i], further)
            i, further = further, loaded(&self.links[further])
        return i

    cdef int32_t after(self, int32_t i, bint linked) noexcept nogil:
        """The next suffix of a group after the i-th."""
        return self.alive_from(i + 1) if linked else i + 1

    cdef void kill(self, int64_t place) noexcept nogil:
        """Nothing that starts at a place of a long word can join anything any more."""
        cdef int32_t i = self.ranks[place]
        if self.links[i] == i:
            self.links[i] = i + 1

    cdef void join(self, int32_t start, int32_t end) noexcept nogil:
        """Clear the cuts strictly between two places."""
        cdef int64_t place = start + 1, stop
        cdef uint64_t cleared
        cdef bint linked = self.has_links(start)
        while place < end:
            stop = min(<int64_t>end, (place | 63) + 1)
            cleared = self.cuts[place >> 6] & ((~<uint64_t>0 >> (64 - (stop - place))) << (place & 63))
            self.cuts[place >> 6] ^= cleared
            if linked and self.cut_first:
                while cleared:
                    self.kill((place & ~<int64_t>63) + trailing_zeros(cleared))
                    cleared &= cleared - 1
            place = stop
        if linked:
            self.shorten(self.words[start])

    cdef void shorten(self, int32_t word) noexcept nogil:
        """Nothing is left to join from the last cut in a long word on."""
        cdef int32_t place = self.tails[word]
        while place > self.offsets[word] and not self.cuts[place >> 6] >> (place & 63) & 1:
            place -= 1
            self.kill(place)
        self.tails[word] = place

    cdef int list_places(self, int32_t group, bint in_order, vector[int32_t]& places) except -1 nogil:
        """Leave the places of a group that are alive in ``places``."""
        cdef bint linked = self.kinds[group] & LINKED, ascending = True
        cdef int32_t i = self.after(self.groups[group, 0] - 1, linked), high = self.groups[group, 1], place
        places.clear()
        while i < high:
            place = self.suffixes[i]
            if not self.cut_first or cuts_from(self.cuts.data(), place) & 1:
                ascending &= places.size() == 0 or places.back() < place
                places.push_back(place)
            i = self.after(i, linked)
        if in_order and not ascending:
            sort(places.begin(), places.end())
        return 0

    cdef int find_overlaps(self, int32_t group, vector[int32_t]& places) except -1 nogil:
        """Whether places of a group overlap; if so, those that are alive are left in order in ``places``."""
        cdef int32_t length = self.groups[group, 3]
        cdef size_t place
        if self.kinds[group] & ~LINKED == UNKNOWN:
            self.kinds[group] |= APART
            if self.may_overlap(&self.data[self.suffixes[self.groups[group, 0]]], length):
                self.list_places(group, True, places)
                for place in range(1, places.size()):
                    if places[place] - places[place - 1] < length:
                        self.kinds[group] ^= APART | OVERLAPPING
                        return True
        if self.kinds[group] & OVERLAPPING:
            self.list_places(group, True, places)
            return True
        return False

    cdef bint may_overlap(self, const uint8_t* spelling, int32_t length) noexcept nogil:
        """Whether a substring might start within itself; taken to be so where that takes long to find out."""
        cdef int64_t steps = 0
        cdef int32_t i, same
        for i in range(1, length):
            if spelling[i] == spelling[0]:
                same = 1
                while i + same < length and spelling[i + same] == spelling[same]:
                    same += 1
                steps += same
                if i + same == length or steps > 8 * <int64_t>length:
                    return True
        return False

    cdef Entry best_of(self, const vector[int64_t]& sums, int32_t group) noexcept nogil:
        """The best length of a group; ``sums`` may be empty where all are 0."""
        cdef Entry best
        cdef size_t i
        best.gain, best.length, best.group = 0, self.groups[group, 2], group
        for i in range(sums.size()):
            if sums[i] > best.gain:
                best.gain, best.length = sums[i], self.groups[group, 2] + <int32_t>i
        return best

    cdef int evaluate(self, int32_t group, Evaluation* found, Work* work) except -1 nogil:
        """The best of a group's substrings as things stand."""
        cdef bint linked = self.kinds[group] & LINKED
        cdef int32_t i = self.after(self.groups[group, 0] - 1, linked), high = self.groups[group, 1]
        found.bound.gain, found.bound.length, found.bound.group = 0, self.groups[group, 2], group
        if i < high:
            if self.after(i, linked) >= high:
                self.evaluate_single(i, &found.bound)
            elif self.find_overlaps(group, work.places):
                return self.evaluate_overlapping(group, found, work)
            else:
                self.evaluate_apart(i, linked, &found.bound, work)
        found.exact = found.bound
        return 0

    cdef int bound_in_words(self, vector[int64_t]& reach, vector[int64_t]& often) except -1 nogil:
        """What each group's long words, once each, add to :meth:`most`, and how often it occurs in them."""
        cdef vector[int32_t] last       # the last suffix of each word seen so far
        cdef vector[int32_t] path       # the groups that the present suffix is in
        cdef int32_t word, inner, left, right, middle
        cdef int64_t i, next_group = 0, most
        last.resize(self.counts.shape[0], -1)
        reach.resize(self.groups.shape[0])
        often.resize(self.groups.shape[0])
        for i in range(self.suffixes.shape[0] + 1):
            if i < self.suffixes.shape[0] and not self.has_links(self.suffixes[i]):
                continue
            while path.size() > 0 and self.groups[path.back(), 1] <= i:
                inner = path.back()
                path.pop_back()
                if path.size() > 0:
                    reach[path.back()] += reach[inner]
                    often[path.back()] += often[inner]
            if i == self.suffixes.shape[0]:
                break
            while next_group < self.groups.shape[0] and self.groups[next_group, 0] <= i:
                if self.groups[next_group, 1] > i:
                    path.push_back(<int32_t>next_group)
                    self.kinds[next_group] |= LINKED
                next_group += 1
            if path.size() == 0:
                continue
            word = self.words[self.suffixes[i]]
            most = self.most_in_word(self.offsets[word + 1] - self.offsets[word]) * self.counts[word]
            often[path.back()] += self.counts[word]
            reach[path.back()] += most
            left, right = 0, <int32_t>path.size()       # the innermost that holds the word's last suffix has it twice
            while left < right:
                middle = (left + right) // 2
                if self.groups[path[middle], 0] <= last[word]:
                    left = middle + 1
                else:
                    right = middle
            if left > 0:
                reach[path[left - 1]] -= most
            last[word] = <int32_t>i
        return 0

    cdef int fill(self) except -1 nogil:
        """Bound every group by its occurrences times the cuts inside its longest substring, and by its long words."""
        cdef vector[int64_t] reach, often, places
        cdef int32_t group, level
        cdef int64_t i, total = 0, sum = 0
        cdef bint some_long = False
        cdef Entry entry
        for i in range(self.counts.shape[0]):
            total += self.counts[i] * (self.offsets[i + 1] - self.offsets[i])
            some_long |= self.is_long(i)
        if some_long:
            self.bound_in_words(reach, often)
        self.before.resize(self.suffixes.shape[0] + 1)
        for i in range(self.suffixes.shape[0]):
            sum += self.weights[i]
            self.before[i + 1] = sum
        self.levels.resize(LEVELS + 1)
        places.resize(LEVELS)
        for group in range(<int32_t>self.groups.shape[0]):
            entry = self.bound_of(group, total, reach, often)
            self.levels[level_of(entry.gain)] += 1
        sum = 0
        for level in range(LEVELS - 1, -1, -1):
            places[level] = sum
            sum += self.levels[level]
            self.levels[level] = sum        # where the level ends
        self.waiting.resize(self.groups.shape[0])
        for group in range(<int32_t>self.groups.shape[0]):
            entry = self.bound_of(group, total, reach, often)
            level = level_of(entry.gain)
            self.waiting[places[level]] = entry
            places[level] += 1
        self.level = LEVELS - 1
        self.before.clear()
        self.before.shrink_to_fit()
        return 0

    cdef Entry bound_of(
        self, int32_t group, int64_t total, const vector[int64_t]& reach, const vector[int64_t]& often
    ) noexcept nogil:
        """A group's bound before anything is joined; ``total`` bytes of text."""
        cdef Entry entry
        cdef int64_t inside = self.groups[group, 3] - 1
        cdef int64_t sum = self.before[self.groups[group, 1]] - self.before[self.groups[group, 0]]
        entry.gain, entry.length, entry.group = 0, self.groups[group, 3], group
        if self.kinds[group] & LINKED:
            entry.gain = self.most(reach[group], inside + 1)
            if often[group] <= entry.gain // inside:
                entry.gain = often[group] * inside
            else:
                entry.length = self.groups[group, 2]    # a shorter one may join as much
            sum -= often[group]
        if sum <= (total - entry.gain) // inside:
            entry.gain += sum * inside
        else:
            entry.gain, entry.length = total, self.groups[group, 2]
        return entry

    cdef int call_up(self, int64_t least) except -1 nogil:
        """Bring the groups that wait to the heap, level by level, while they may join ``least`` and what its top may.

        A level is evaluated as it comes, in the order of the text: few of its groups join as much as was thought. Those
        in long words wait for their turn, as a look at one of them may take as many steps as there are bytes.
        """
        cdef int64_t i, end
        while self.level > 0 and (self.heap.size() == 0 or self.heap[0].gain <= most_of(self.level)):
            end = self.levels[self.level]
            if least > most_of(self.level):
                break
            if end > self.called:
                self.evaluate_waiting(end)
                for i in range(self.called, end):
                    if self.waiting[i].gain > 0:
                        push(self.heap, self.waiting[i])
                self.called = end
            self.level -= 1
        return 0

    cdef int evaluate_waiting(self, int64_t end) except -1 nogil:
        """Bound groups that wait, up to an index, anew."""
        cdef int64_t i, places = 0, part
        cdef Task task
        task.first = self.called
        if self.helpers == 0:
            return self.bound_anew(self.called, end, &self.work)
        for i in range(self.called, end):
            places += self.groups[self.waiting[i].group, 1] - self.groups[self.waiting[i].group, 0]
        if places < self.enough:
            return self.bound_anew(self.called, end, &self.work)
        part = max(places // (8 * (self.helpers + 1)), self.enough // 4 + 1)
        task.kind, task.index, places = WAITING, -1, 0
        self.tasks.clear()
        for i in range(self.called, end):
            places += self.groups[self.waiting[i].group, 1] - self.groups[self.waiting[i].group, 0]
            if places >= part or i + 1 == end:
                task.last = i + 1
                self.tasks.push_back(task)
                task.first, places = i + 1, 0
        return self.share_out()

    cdef int bound_anew(self, int64_t first, int64_t last, Work* work) except -1 nogil:
        """Bound groups that wait by what they join as things stand."""
        cdef Evaluation found
        cdef int64_t i
        for i in range(first, last):
            if not self.kinds[self.waiting[i].group] & LINKED:
                self.evaluate(self.waiting[i].group, &found, work)
                self.waiting[i] = found.bound
        return 0

    cdef int share_out(self) except -1 nogil:
        """See that all tasks are done."""
        self.team.lay_out(<int32_t>self.tasks.size())
        try:
            self.take_part(&self.work)
        finally:
            while self.team.take() >= 0:        # after an error here nobody may be left to do them
                self.team.finish()
            self.team.wait()
        if self.failed:
            with gil:
                raise MemoryError("no memory to look at substrings with")
        return 0

    cdef int choose(self, Entry* best) except -1 nogil:
        """Find the best substring and apply it; its gain is 0 where no substring has any.

        What is looked at beside what must be does not show: the best of all is chosen, and bounds stay bounds.
        """
        cdef size_t i, together = 1
        best.gain, best.length, best.group = 0, 0, -1
        self.aside.clear()
        while True:
            self.tried.clear()
            self.call_up(best.gain)
            while self.tried.size() < together and self.heap.size() > 0 and precedes(self.heap[0], best[0]):
                self.tried.push_back(pop(self.heap).group)
                self.call_up(best.gain)
            if self.tried.size() == 0:
                break
            self.evaluate_tried()
            for i in range(self.tried.size()):
                if self.found[i].bound.gain > 0:
                    self.aside.push_back(self.found[i].bound)
                if self.found[i].exact.gain > 0 and precedes(self.found[i].exact, best[0]):
                    best[0] = self.found[i].exact
            if self.helpers > 0:
                together = min(2 * together, <size_t>MOST_TOGETHER)
        for i in range(self.aside.size()):
            push(self.heap, self.aside[i])
        if best.gain > 0:
            self.apply(best[0])
        return 0

    cdef int evaluate_tried(self) except -1 nogil:
        """Evaluate the groups of ``tried``, with the others' help where that takes long enough."""
        cdef size_t i
        cdef int64_t places = 0
        cdef int32_t group, high, part, number
        cdef Task task
        self.found.resize(max(self.found.size(), self.tried.size()))
        for i in range(self.tried.size()):
            places += self.groups[self.tried[i], 1] - self.groups[self.tried[i], 0]
        if self.helpers == 0 or places < self.enough:
            for i in range(self.tried.size()):
                self.evaluate(self.tried[i], &self.found[i], &self.work)
            return 0
        part = <int32_t>max(places // (4 * (self.helpers + 1)), self.enough // 4 + 1)
        self.tasks.clear()
        for i in range(self.tried.size()):
            group = self.tried[i]
            task.kind, task.index, task.first, high = WHOLE, <int32_t>i, self.groups[group, 0], self.groups[group, 1]
            if (
                high - task.first > part and self.kinds[group] == APART
                and self.groups[group, 2] == self.groups[group, 3] < LONG
            ):
                task.kind = DIVIDED
                self.found[i].bound.gain, self.found[i].bound.group = 0, group
                self.found[i].bound.length = self.groups[group, 3]
                while task.first < high:
                    task.last = min(<int64_t>high, task.first + part)
                    self.tasks.push_back(task)
                    task.first = task.last
            else:
                self.tasks.push_back(task)
        self.sums.resize(self.tasks.size())
        self.share_out()
        for i in range(self.tasks.size()):
            if self.tasks[i].kind == DIVIDED:
                number = self.tasks[i].index
                self.found[number].bound.gain += self.sums[i]
                self.found[number].exact = self.found[number].bound
        return 0

    cdef int take_part(self, Work* work) except -1 nogil:
        """Do tasks until all of them are taken."""
        cdef int32_t i = self.team.take()
        cdef bint failed
        while i >= 0:
            failed = True
            try:
                self.perform(i, work)
                failed = False
            finally:
                if failed:
                    self.failed = True
                self.team.finish()
            i = self.team.take()
        return 0

    cdef int perform(self, int32_t i, Work* work) except -1 nogil:
        cdef Task task = self.tasks[i]
        cdef int32_t group
        if task.kind == WAITING:
            return self.bound_anew(task.first, task.last, work)
        group = self.tried[task.index]
        if task.kind == DIVIDED:
            self.sums[i] = self.joined_apart(<int32_t>task.first, <int32_t>task.last, self.groups[group, 3])
            return 0
        return self.evaluate(group, &self.found[task.index], work)

    cdef object lead(self, int64_t limit):
        """Choose up to ``limit`` substrings: int64 [chosen, 3], as of :func:`chosen`."""
        cdef vector[int64_t] taken
        cdef Entry best
        cdef int32_t start
        cdef size_t i
        with nogil:
            try:
                self.fill()
                while <int64_t>(taken.size() // 3) < limit:
                    self.choose(&best)
                    if best.gain == 0:
                        break
                    start = self.suffixes[self.groups[best.group, 0]]
                    taken.push_back(start)
                    taken.push_back(start + best.length)
                    taken.push_back(best.gain)
            finally:
                self.team.disband()
        rows = np.empty((taken.size() // 3, 3), np.int64)
        cdef int64_t[::1] flat = rows.reshape(-1)
        for i in range(taken.size()):
            flat[i] = taken[i]
        return rows

    cdef object help(self):
        """Take part in evaluations until all is chosen."""
        cdef Work work
        with nogil:
            ready_to_throw()
            while self.team.stand_by():
                self.take_part(&work)

    cdef int evaluate_single(self, int32_t i, Entry* found) except -1 nogil:
        """Find what a group joins at its only place, that of the i-th suffix."""
        raise NotImplementedError("an objective must say what a substring joins")

    cdef int evaluate_apart(self, int32_t i, bint linked, Entry* found, Work* work) except -1 nogil:
        """Find the best of a group whose places do not overlap, the first one alive being that of the i-th suffix."""
        raise NotImplementedError("an objective must say what a substring joins")

    cdef int64_t joined_apart(self, int32_t low, int32_t high, int32_t length) noexcept nogil:
        """What a substring of less than 64 bytes joins at places of short words that do not overlap."""
        return 0

    cdef int evaluate_overlapping(self, int32_t group, Evaluation* found, Work* work) except -1 nogil:
        """Find the best of a group, and its bound, where its places, in order in ``places``, overlap."""
        raise NotImplementedError("an objective must say what a substring joins")

    cdef int apply(self, Entry choice) except -1 nogil:
        """Join the bytes of a substring at its places."""
        raise NotImplementedError("an objective must say what a substring joins")

    cdef int64_t most_in_word(self, int64_t length) noexcept nogil:
        """Of what :meth:`most` looks at the sum over words, what one word adds: its bytes."""
        return length

    cdef int64_t most(self, int64_t sum, int64_t longest) noexcept nogil:
        """Cuts that substrings of up to ``longest`` bytes can join in words, of the sum of what each word adds."""
        return sum


def chosen(
    Partition state, const uint8_t[::1] data, const int64_t[::1] offsets, const int64_t[::1] counts,
    const int32_t[::1] suffixes, const int32_t[:, ::1] groups, int64_t limit, int32_t threads=1,
    int64_t enough=1024,
):
    """Take the substring that joins the most bytes, applied to all words, again and again.

    Ties fall to the shorter substring, then to the lesser bytes.

    Args:
        state: a new partition with the objective.
        data: uint8 [n], the words laid end to end; n is less than 2**31.
        offsets: int64 [words + 1], where each word starts; the last entry is n.
        counts: int64 [words], occurrences of each word; times its bytes, they sum to less than 2**62.
        suffixes: int32 [n], the positions of ``data`` in order.
        groups: int32 [m, 4], the substrings to choose from, as by :func:`tokbench.kernels.substrings`: groups whose
            substrings have the same length are in byte order; m is less than 2**31.
        limit: substrings wanted.
        threads: threads to use; the result does not depend on them.
        enough: places that are worth another thread's help; it does not show either.

    Returns:
        int64 [chosen, 3]: start and end of one occurrence in ``data``, and the cuts cleared, each as often as its word
        occurs. Fewer than ``limit`` where nothing more can be joined.

    Raises:
        ValueError: there are too many bytes or groups.
    """
    if max(data.shape[0], groups.shape[0]) >= 2**31:
        raise ValueError(
            f"{groups.shape[0]} groups of substrings in {data.shape[0]} bytes cannot be addressed, the limit is {2**31 - 1}"
        )
    state.data, state.offsets, state.counts = data, offsets, counts
    state.suffixes, state.groups = suffixes, groups
    state.words = np.repeat(np.arange(len(counts), dtype=np.int32), np.diff(offsets))
    state.weights = np.empty(data.shape[0], np.int64)
    state.ranks = np.empty(data.shape[0], np.int32)
    state.links = np.empty(data.shape[0] + 1, np.int32)
    state.tails = np.empty(counts.shape[0], np.int32)
    state.helpers, state.enough = threads - 1, enough
    with nogil:
        state.start()
    edges = [data.shape[0] * part // PARTS for part in range(PARTS + 1)]
    list(mapped(lambda part: state.lay_down(edges[part], edges[part + 1]), range(PARTS), threads))
    turns = mapped(lambda turn: state.help() if turn else state.lead(limit), range(threads), threads)
    return list(turns)[0]
