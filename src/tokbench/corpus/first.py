"""The first document of each language of a source, read before any work is done: its fields, its encoding, its kind."""

from itertools import islice

from tokbench.corpus.read import read_source
from tokbench.corpus.shards import LONG
from tokbench.corpus.sources import CountsSource, FileSource, TextSource, tagged_files
from tokbench.corpus.streams import PART
from tokbench.errors import TokbenchError
from tokbench.inputs.encodings import Notes


def mistakes_of_fields(source: FileSource) -> list[str]:
    """What is wrong with the beginning of the first file under each language tag.

    Raises:
        TokbenchError: an entry matches no file.
    """
    first = dict(reversed(tagged_files(source)))
    if isinstance(source, CountsSource):
        return []
    found = []
    longest = PART if isinstance(source, TextSource) else LONG
    for file in first.values():
        alone = source.model_copy(update={"path": [str(file)], "max_documents": 1, "languages": None})
        notes = Notes()
        try:
            if not list(islice(read_source(alone, longest=longest, notes=notes), 1)) and notes.bad_lines:
                found.append(f"{file}: no line is good ({notes.bad_lines:,} bad ones); name the fields that it has")
        except TokbenchError as error:
            found.append(str(error))
    return found
