"""Work that threads share: results in order, and nothing runs on after an error."""

import threading

import pytest

from tokbench.parallel import mapped


def square(number: int) -> int:
    return number * number


@pytest.mark.parametrize("threads", [1, 2, 5, 100])
@pytest.mark.parametrize("items", [0, 1, 2, 64])
def test_results_in_order(threads: int, items: int) -> None:
    assert list(mapped(square, range(items), threads)) == [number**2 for number in range(items)]


def test_as_many_threads_as_are_asked_for() -> None:
    together = threading.Barrier(3)
    assert len(list(mapped(lambda _: together.wait(30), range(3), 3))) == 3


@pytest.mark.parametrize("threads", [1, 3])
def test_the_first_error_is_raised(threads: int) -> None:
    def fail(number: int) -> int:
        if number in (7, 9):
            raise MemoryError(number)
        return number

    with pytest.raises(MemoryError, match="7"):
        list(mapped(fail, range(64), threads))


def test_nothing_runs_on_after_an_error() -> None:
    running: list[int] = []

    def work(number: int) -> None:
        running.append(number)
        try:
            if number == 0:
                raise ValueError
        finally:
            running.remove(number)

    for _ in range(50):
        with pytest.raises(ValueError):  # noqa: PT011
            list(mapped(work, range(64), 4))
        assert running == []
