"""Pre-tokenization: the schemes that cut a document into pre-tokens."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from tokbench.registry import Method, Registry


class Boundaries(Protocol):
    """How a scheme is called."""

    def __call__(self, text: bytes) -> NDArray[np.int64]:
        """Where pre-tokens begin and end: int64 [n + 1], the first 0, the last the length; ``[0]`` for an empty text.

        Bytes that are not valid UTF-8 count as characters that are neither space, letter nor number.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Scheme(Method):
    """A named pre-tokenization.

    Attributes:
        pattern: the regular expression that defines it on text; None where there is none, as where the whole document
            is one pre-token.
    """

    function: Boundaries
    pattern: str | None


schemes: Registry[Scheme] = Registry("pre-tokenization", "tokbench.pretokenization", Boundaries)

Function = TypeVar("Function", bound=Callable[..., NDArray[np.int64]])


def pretokenization(name: str, *, pattern: str | None) -> Callable[[Function], Function]:
    """Register a scheme with its regular expression.

    Raises:
        TokbenchError: the pattern is no text, or the function does not fit :class:`Boundaries`.
    """

    def decorate(function: Function) -> Function:
        schemes.check(pattern is None or isinstance(pattern, str), name, f"its pattern is {pattern!r}; give its text")
        schemes.add(Scheme(name=name, function=function, pattern=pattern))
        return function

    return decorate
