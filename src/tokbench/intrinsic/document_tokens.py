"""Token counts of documents, and the encoding speed of the tokenizer on their texts.

The uncertainty from the choice of documents can be estimated only from counts by document; see
:mod:`tokbench.metric.measurement`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from operator import attrgetter
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tokbench.corpus.documents import read_documents, read_domains
from tokbench.intrinsic.encoding_speed import TOO_SHORT, Sample, cold_speed
from tokbench.io.identity import TextDigest, made_from
from tokbench.io.json import write_result
from tokbench.metric.language_tokens import BY_LANGUAGE, LanguageTokens, language_tokens
from tokbench.metric.measurement import in_groups
from tokbench.runtime.memory_limit import check_memory
from tokbench.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokbench.corpus.documents import Document


class TokenCounter(Protocol):
    """Required method of a tokenizer: the token count of a text."""

    def count(self, text: bytes) -> int: ...


def tokens_by_document(
    tokenizer: TokenCounter,
    documents: "Iterable[Document]",
    languages: LanguageTokens | None = None,
    domains: Mapping[int, str] | None = None,
) -> tuple[dict[str, list[int]], list[bytes]]:
    """Count the tokens of each document, or of each group of neighbours.

    Args:
        tokenizer: the tokenizer.
        documents: the documents.
        languages: counter of the documents of each language, to which each document is added (default: None).
        domains: domain of each document, so that groups are of one domain each (default: None, one domain).

    Returns:
        Lists ``document`` (first of the group), ``documents``, ``bytes`` and ``tokens`` by group, and the texts for
        :func:`tokbench.intrinsic.encoding_speed.cold_speed`.
    """
    rows: list[tuple[int, int, int, int]] = []
    sample = Sample()
    for document in documents:
        tokens = tokenizer.count(document.text) if languages is None else languages.add(document)
        rows.append((document.document, 1, len(document.text), tokens))
        sample.add(document.text)
    counts = np.array(rows, np.int64).reshape(-1, 4)
    if domains:
        own = np.array([domains[number] for number in counts[:, 0].tolist()])
        table = np.concatenate([in_groups(counts[own == name]) for name in np.unique(own)])
        table = table[np.argsort(table[:, 0], kind="stable")]
    else:
        table = in_groups(counts)
    names = ("document", "documents", "bytes", "tokens")
    return {name: table[:, place].tolist() for place, name in enumerate(names)}, sample.texts


def write_document_tokens(
    folder: str,
    shards: Sequence[str],
    output: str,
    *,
    variant: str | None = None,
    corpus: str = "",
    speed: str | None = None,
    megabytes: int | None = None,
) -> None:
    """Write the token counts of the documents in corpus shards, and the speed of their encoding.

    Args:
        folder: folder of the tokenizer.
        shards: the shards.
        output: JSON file of the counts.
        variant: name in the tables. Default: that of the tokenizer.
        corpus: name of the corpus in the tables. Default: empty.
        speed: JSON file of the cold encoding speed. Default: None, which is not measured.
        megabytes: memory limit in MB (10^6 bytes). Default: None, no limit.

    Raises:
        TokbenchError: the folder does not contain a tokenizer, a shard is damaged, or memory is too small for any text.
    """
    tokenizer = Tokenizer.load(folder)
    check_memory(megabytes)
    text = TextDigest()
    languages = language_tokens(tokenizer)
    domains = dict(zip(*read_domains(shards), strict=True))
    documents = text.watched(read_documents(shards), attrgetter("text"))
    counts, texts = tokens_by_document(tokenizer, documents, languages, domains)
    head = {"variant": variant or tokenizer.name, "size": tokenizer.nominal_size, "corpus": corpus}
    head |= made_from(tokenizer=tokenizer.digest, text=text.hexdigest())
    if speed is not None:
        cold = cold_speed(tokenizer, texts)
        write_result(speed, head | ({"reason": TOO_SHORT} if cold is None else asdict(cold)))
    write_result(output, head | counts | ({} if languages is None else {BY_LANGUAGE: languages.lists()}))
