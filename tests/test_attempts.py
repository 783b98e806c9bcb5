"""What a job asks for when it is tried again."""

from tokbench.workflow.attempts import doubling, lengthening


def test_memory_doubles_and_time_grows_by_as_much() -> None:
    assert [doubling(4000)(None, attempt) for attempt in (1, 2, 3)] == [4000, 8000, 16000]
    assert [lengthening(60)(None, attempt) for attempt in (1, 2, 3)] == [60, 120, 180]
    assert [lengthening(1440)(None, attempt) for attempt in (1, 2, 3)] == [1440, 2880, 2880]
