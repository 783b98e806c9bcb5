# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Greedy choice of the substring that joins the most bytes, or has another largest gain, with bounds on all groups.

Groups wait in levels by their first bounds until one on their level may be the best. Then they move to a heap, ordered
by their current bounds. Threads evaluate several groups in parallel if that takes long enough. Evaluating additional
groups does not change the result: the best of all is chosen, and bounds stay valid.

Reference: :mod:`tokbench.reference.greedtok`.
"""

from itertools import accumulate

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from tokbench.kernels.cuts cimport leading_zeros
from tokbench.kernels.exceptions cimport ready_to_throw
from tokbench.kernels.gains cimport Entry, Evaluation, pop, precedes, push
from tokbench.kernels.partition cimport APART, LINKED, LONG, Partition, Work
from tokbench.kernels.team cimport Team

from tokbench.kernels.threads import parallel_map
from tokbench.kernels.flat_arrays import repeat_ranges

cdef enum:
    LEVELS = 944            # of bounds below 2^62: sixteen per power of two
    PARTS = 16              # of the text
    MOST_TOGETHER = 64      # groups of the heap evaluated together
    WAITING = 0             # task kinds: bound some of the waiting groups
    WHOLE = 1               # evaluate a group
    DIVIDED = 2             # evaluate some of its places


cdef struct Task:
    int64_t first       # among the waiting groups, or the suffixes of a group
    int64_t last
    int32_t index       # of the group in ``tried``
    int32_t kind


cdef inline int32_t level_of(int64_t gain) noexcept nogil:
    cdef int power
    if gain < 16:
        return <int32_t>gain
    power = 63 - leading_zeros(<uint64_t>gain)
    return (power - 3) * 16 + <int32_t>(gain >> (power - 4)) - 16


cdef inline int64_t most_of(int32_t level) noexcept nogil:
    """Return the greatest gain of a level."""
    if level < 16:
        return level
    return ((<int64_t>(level % 16) + 17) << (level // 16 - 1)) - 1


cdef class Choice:
    """Repeated choice of the best substring from a partition."""

    cdef Partition state
    cdef int64_t total                      # bytes of the text
    cdef int64_t[::1] before                # sum of the initial counts of the suffixes before each
    cdef int64_t[::1] reach                 # per group: most bytes joined in long words, if there are any
    cdef int64_t[::1] often
    cdef vector[int64_t] places             # per part of the groups and level: next position in ``waiting``
    cdef uint8_t[::1] room                  # memory of ``waiting``, not zeroed, as one thread would do that
    cdef Entry* waiting                     # groups with their first bounds, level by level
    cdef vector[int64_t] levels             # end of each level in ``waiting``
    cdef int32_t level                      # next level to move to the heap
    cdef int64_t called                     # number of groups that no longer wait
    cdef vector[Entry] heap
    cdef vector[Entry] aside
    cdef vector[int32_t] tried              # groups evaluated together
    cdef vector[Evaluation] found           # their evaluations
    cdef vector[Task] tasks
    cdef vector[int64_t] sums               # per task that is part of a group
    cdef Team team
    cdef int32_t helpers                    # threads besides the leading one
    cdef int64_t enough                     # number of places for which helpers are worthwhile
    cdef bint failed                        # whether a helper ran out of memory

    cdef object prepare(self):
        """Allocate the inputs of the first bounds, and bound the gains in long words."""
        cdef int64_t i
        cdef bint some_long = False
        self.room = np.empty((self.state.groups.shape[0] + 1) * sizeof(Entry), np.uint8)
        self.waiting = <Entry*>&self.room[0]
        self.before = np.empty(self.state.suffixes.shape[0] + 1, np.int64)
        self.before[0] = 0
        with nogil:
            for i in range(self.state.counts.shape[0]):
                self.total += self.state.counts[i] * (self.state.offsets[i + 1] - self.state.offsets[i])
                some_long |= self.state.is_long(i)
        if some_long:                       # most pages of these arrays are never touched
            self.reach = np.zeros(self.state.groups.shape[0], np.int64)
            self.often = np.zeros(self.state.groups.shape[0], np.int64)
        with nogil:
            if some_long:
                self.state.bound_in_words(self.reach, self.often)
            self.levels.resize(LEVELS + 1)
            self.places.resize(PARTS * LEVELS)

    cdef object add_up(self, int64_t first, int64_t last, int64_t sum):
        """Write the running sum of counts after some of the suffixes; ``sum`` is the value before the first."""
        cdef int64_t i
        with nogil:
            for i in range(first, last):
                sum += self.state.weights[i]
                self.before[i + 1] = sum

    cdef int64_t edge(self, int64_t part) noexcept nogil:
        """Return the first group of a part."""
        return self.state.groups.shape[0] * part // PARTS

    cdef object count_levels(self, int64_t part):
        """Count the groups of a part per level of bounds."""
        cdef int64_t group
        cdef int64_t* found = &self.places[part * LEVELS]
        with nogil:
            for group in range(self.edge(part), self.edge(part + 1)):
                found[level_of(self.bound_of(<int32_t>group).gain)] += 1

    cdef object settle(self):
        """Compute the first position of each part's groups on each level, in the order of the groups."""
        cdef int64_t sum = 0, some
        cdef int32_t level, part
        for level in range(LEVELS - 1, -1, -1):
            for part in range(PARTS):
                some = self.places[part * LEVELS + level]
                self.places[part * LEVELS + level] = sum
                sum += some
            self.levels[level] = sum        # end of the level
        self.level = LEVELS - 1

    cdef object fill(self, int64_t part):
        """Bound the groups of a part by count times the cuts inside the longest substring, and by their long words."""
        cdef int64_t group
        cdef Entry entry
        cdef int64_t* places = &self.places[part * LEVELS]
        with nogil:
            for group in range(self.edge(part), self.edge(part + 1)):
                entry = self.bound_of(<int32_t>group)
                self.waiting[places[level_of(entry.gain)]] = entry
                places[level_of(entry.gain)] += 1

    cdef object forget(self):
        """Release the inputs of the first bounds."""
        self.before = None
        self.reach = None
        self.often = None

    cdef Entry bound_of(self, int32_t group) noexcept nogil:
        """Return the bound of a group before anything is joined."""
        cdef Entry entry
        cdef int64_t longest = self.state.groups[group, 3], inside = longest - (not self.state.by_length)
        cdef int64_t total = self.total * (longest if self.state.by_length else 1)
        cdef int64_t sum = self.before[self.state.groups[group, 1]] - self.before[self.state.groups[group, 0]]
        entry.gain, entry.length, entry.group = 0, self.state.groups[group, 3], group
        if self.state.kinds[group] & LINKED:
            entry.gain = self.state.most(self.reach[group], longest)
            if self.often[group] <= entry.gain // inside:
                entry.gain = self.often[group] * inside
            else:
                entry.length = self.state.groups[group, 2]    # a shorter one may join as much
            sum -= self.often[group]
        if sum <= (total - entry.gain) // inside:
            entry.gain += sum * inside
        else:
            entry.gain, entry.length = total, self.state.groups[group, 2]
        return entry

    cdef int call_up(self, int64_t least) except -1 nogil:
        """Move waiting groups to the heap, level by level, while they may reach ``least`` and the top of the heap.

        A level is evaluated when it is moved, in the order of the text, because few of its groups reach their bounds.
        Groups in long words are not evaluated here, because one evaluation may need as many steps as there are bytes.
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
        """Update the bounds of waiting groups up to an index."""
        cdef int64_t i, places = 0, part
        cdef Task task
        task.first = self.called
        if self.helpers == 0:
            return self.bound_anew(self.called, end, &self.state.work)
        for i in range(self.called, end):
            places += self.state.groups[self.waiting[i].group, 1] - self.state.groups[self.waiting[i].group, 0]
        if places < self.enough:
            return self.bound_anew(self.called, end, &self.state.work)
        part = max(places // (8 * (self.helpers + 1)), self.enough // 4 + 1)
        task.kind, task.index, places = WAITING, -1, 0
        self.tasks.clear()
        for i in range(self.called, end):
            places += self.state.groups[self.waiting[i].group, 1] - self.state.groups[self.waiting[i].group, 0]
            if places >= part or i + 1 == end:
                task.last = i + 1
                self.tasks.push_back(task)
                task.first, places = i + 1, 0
        return self.share_out()

    cdef int bound_anew(self, int64_t first, int64_t last, Work* work) except -1 nogil:
        """Replace the bounds of waiting groups by their current gains, except for groups in long words."""
        cdef Evaluation found
        cdef int64_t i
        for i in range(first, last):
            if not self.state.kinds[self.waiting[i].group] & LINKED:
                self.state.evaluate(self.waiting[i].group, &found, work)
                self.waiting[i] = found.bound
        return 0

    cdef int share_out(self) except -1 nogil:
        """Run all tasks."""
        self.team.lay_out(<int32_t>self.tasks.size())
        try:
            self.take_part(&self.state.work)
        finally:
            while self.team.take() >= 0:        # after an error here, no task may be left open
                self.team.finish()
            self.team.wait()
        if self.failed:
            with gil:
                raise MemoryError("no memory to look at substrings with")
        return 0

    cdef int choose(self, Entry* best) except -1 nogil:
        """Find the best substring and apply it. Its gain is 0 if no substring has a positive gain."""
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
            self.state.apply(best[0])
        return 0

    cdef int evaluate_tried(self) except -1 nogil:
        """Evaluate the groups of ``tried``, with helpers if that takes long enough."""
        cdef size_t i
        cdef int64_t places = 0
        cdef int32_t group, high, part, number
        cdef Task task
        self.found.resize(max(self.found.size(), self.tried.size()))
        for i in range(self.tried.size()):
            places += self.state.groups[self.tried[i], 1] - self.state.groups[self.tried[i], 0]
        if self.helpers == 0 or places < self.enough:
            for i in range(self.tried.size()):
                self.state.evaluate(self.tried[i], &self.found[i], &self.state.work)
            return 0
        part = <int32_t>max(places // (4 * (self.helpers + 1)), self.enough // 4 + 1)
        self.tasks.clear()
        for i in range(self.tried.size()):
            group = self.tried[i]
            task.kind, task.index, task.first, high = WHOLE, <int32_t>i, self.state.groups[group, 0], self.state.groups[group, 1]
            if (
                high - task.first > part and self.state.kinds[group] == APART
                and self.state.groups[group, 2] == self.state.groups[group, 3] < LONG
            ):
                task.kind = DIVIDED
                self.found[i].bound.gain, self.found[i].bound.group = 0, group
                self.found[i].bound.length = self.state.groups[group, 3]
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
        for i in range(self.tried.size() if self.state.by_length else 0):
            if self.found[i].exact.gain < self.state.least * self.found[i].exact.length:
                self.found[i].bound.gain = self.found[i].exact.gain = 0
        return 0

    cdef int take_part(self, Work* work) except -1 nogil:
        """Run tasks until none is left."""
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
            self.sums[i] = self.state.joined_apart(<int32_t>task.first, <int32_t>task.last, self.state.groups[group, 3])
            return 0
        return self.state.evaluate(group, &self.found[task.index], work)

    cdef object lead(self, int64_t limit):
        """Choose up to ``limit`` substrings; return int64 [chosen, 3] as in :func:`chosen`."""
        cdef vector[int64_t] taken
        cdef Entry best
        cdef int32_t start
        cdef size_t i
        with nogil:
            try:
                while <int64_t>(taken.size() // 3) < limit:
                    self.choose(&best)
                    if best.gain == 0:
                        break
                    start = self.state.suffixes[self.state.groups[best.group, 0]]
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
        """Help with evaluations until the choice is complete."""
        cdef Work work
        with nogil:
            ready_to_throw()
            while self.team.stand_by():
                self.take_part(&work)


def chosen(
    Partition state,
    const uint8_t[::1] data,
    const int64_t[::1] offsets,
    const int64_t[::1] counts,
    const int32_t[::1] suffixes,
    const int32_t[:, ::1] groups,
    int64_t limit,
    int32_t threads=1,
    int64_t enough=1024,
) -> NDArray[np.int64]:
    """Choose the substring that joins the most bytes, apply it to all words, and repeat.

    Ties: the shorter substring, then the lesser bytes.

    Args:
        state: New partition with the objective.
        data: uint8 [n], concatenated words; n is less than 2**31.
        offsets: int64 [words + 1], start of each word; the last entry is n.
        counts: int64 [words], count of each word. The sum of counts times lengths is less than 2**62.
        suffixes: int32 [n], positions of ``data`` in suffix order.
        groups: int32 [m, 4], candidate substrings as by :func:`tokbench.kernels.substrings`. Groups with substrings of
            the same length are in byte order; m is less than 2**31.
        limit: Requested number of substrings.
        threads: Number of threads (default: 1). The result does not depend on it.
        enough: Number of places for which another thread is worthwhile (default: 1024). The result does not depend on
            it.

    Returns:
        int64 [chosen, 3]: start and end of one occurrence in ``data``, and the number of cuts cleared, weighted by
            counts, or the gain of another objective. There are fewer than ``limit`` rows if nothing more can be joined.

    Raises:
        ValueError: there are too many bytes or groups.
    """
    if max(data.shape[0], groups.shape[0]) >= 2**31:
        raise ValueError(
            f"{groups.shape[0]} groups of substrings in {data.shape[0]} bytes cannot be addressed, the limit is {2**31 - 1}"
        )
    state.data, state.offsets, state.counts = data, offsets, counts
    state.suffixes, state.groups = suffixes, groups
    state.words = repeat_ranges(np.arange(len(counts), dtype=np.int32), np.asarray(offsets), threads)
    state.weights = np.empty(data.shape[0], np.int64)
    state.ranks = np.empty(data.shape[0], np.int32)
    state.links = np.empty(data.shape[0] + 1, np.int32)
    state.tails = np.empty(counts.shape[0], np.int32)
    cdef Choice choice = Choice()
    choice.state, choice.helpers, choice.enough = state, threads - 1, enough
    with nogil:
        state.start()
        state.in_words.resize(PARTS)
    edges = [data.shape[0] * part // PARTS for part in range(PARTS + 1)]
    sums = list(parallel_map(lambda part: state.lay_down(part, edges[part], edges[part + 1]), range(PARTS), threads))
    choice.prepare()
    sums = list(accumulate(sums, initial=0))
    list(parallel_map(lambda part: choice.add_up(edges[part], edges[part + 1], sums[part]), range(PARTS), threads))
    list(parallel_map(lambda part: choice.count_levels(part), range(PARTS), threads))
    choice.settle()
    list(parallel_map(lambda part: choice.fill(part), range(PARTS), threads))
    choice.forget()
    turns = parallel_map(lambda turn: choice.help() if turn else choice.lead(limit), range(threads), threads)
    return list(turns)[0]
