"""The union of the options of all sources: the embedded one, every format of files, the hub, pairs, and counts."""

import functools
import operator
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from tokbench.corpus.formats import corpus_formats
from tokbench.corpus.sources import CountsSource, EmbeddedSource, HubSource, ParallelSource, Source

SOURCES: tuple[type[Source], ...] = (
    EmbeddedSource,
    *(method.options_class for method in corpus_formats.methods()),
    HubSource,
    ParallelSource,
    CountsSource,
)
"""Options of each type of source."""
SOURCE_TYPES = ("embedded", *corpus_formats, "counts")
"""Types of source without required keys other than the type. Their paths may be given on the command line."""
if TYPE_CHECKING:
    AnySource = Source
else:
    AnySource = Annotated[functools.reduce(operator.or_, SOURCES), Field(discriminator="type")]
