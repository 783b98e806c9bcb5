"""One-line errors for exceptions of functions that the user wrote."""

from collections.abc import Iterator
from contextlib import contextmanager

from tokbench.errors import TokbenchError, shortened
from tokbench.runtime.exit_status import Terminated, may_be_short

LONGEST_EXCEPTION = 200
"""Maximum number of characters of an exception in a message."""


@contextmanager
def user_code(place: str, call: str) -> Iterator[None]:
    """Convert exceptions of the user's code to one line; ``SystemExit`` too, which would end a command without output.

    Args:
        place: name of the code, the start of the message.
        call: the part of it that runs.

    Raises:
        TokbenchError: the code raised an exception. Interrupts and SIGTERM pass.
    """
    try:
        yield
    except (KeyboardInterrupt, Terminated):
        raise
    except TokbenchError as error:
        raise TokbenchError(f"{place}: {error}") from error
    except BaseException as error:
        if may_be_short(error):
            raise
        name, message = type(error).__name__, " ".join(str(error).split())
        named = shortened(f"{name}: {message}" if message else name, LONGEST_EXCEPTION)
        raise TokbenchError(f"{place}: {call} raised {named}; correct it") from error
