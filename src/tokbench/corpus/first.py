"""The first document of each part of a source: whether its fields are there is known before any work is done."""

from itertools import islice

from tokbench.corpus.read import read_source
from tokbench.corpus.shards import LONG
from tokbench.corpus.sources import FileSource, JsonLinesSource, ParquetSource, tagged_files
from tokbench.errors import TokbenchError


def mistakes_of_fields(source: FileSource) -> list[str]:
    """What is wrong with the first record of the first file under each language tag, where files have fields.

    Raises:
        TokbenchError: an entry matches no file.
    """
    first = dict(reversed(tagged_files(source)))
    if not isinstance(source, JsonLinesSource | ParquetSource):
        return []
    found = []
    for file in first.values():
        alone = source.model_copy(update={"path": [str(file)], "max_documents": 1, "languages": None})
        try:
            list(islice(read_source(alone, longest=LONG), 1))
        except TokbenchError as error:
            found.append(str(error))
    return found
