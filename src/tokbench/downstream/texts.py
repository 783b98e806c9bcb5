"""Bits per byte of the texts of lm-eval's own tasks, such as Wikitext."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tokbench.errors import TokbenchError

if TYPE_CHECKING:
    from lm_eval.api.task import Task

    from tokbench.downstream.bits_per_byte import Measured

Measure = Callable[[Iterable[bytes]], "tuple[float, Measured]"]


def measure_text(name: str, task: "Task", measure: Measure, limit: int | None = None) -> dict[str, Any]:
    """Bits per byte of a task's texts as lm-eval defines them.

    The model reads each text as the task prepares it (Wikitext is detokenized); the denominator is the bytes that the
    task counts, for Wikitext those of the text as distributed.

    Args:
        name: of the task.
        task: of the type ``loglikelihood_rolling``.
        measure: documents -> their bits per byte, and what these were taken of.
        limit: only the first so many documents.

    Returns:
        ``bits_per_byte``, ``bits``, ``bytes`` (the denominator), ``tokens``, how windows were cut (``window`` and
        ``stride`` in tokens), and ``documents``: the bits, bytes (the denominator) and tokens of each.

    Raises:
        TokbenchError: the task does not count bytes, or has no text.
    """
    documents = list(task.eval_docs)[:limit]
    counted = [task.process_results(document, [0.0]).get("bits_per_byte", (0.0, 0))[1] for document in documents]
    if not sum(counted):
        raise TokbenchError(f"suite: task '{name}' does not count the bytes of its texts; leave it out of texts")
    _, of = measure(str(task.doc_to_target(document)).encode() for document in documents)
    return {
        "bits_per_byte": of["bits"] / sum(counted),
        "bits": of["bits"],
        "bytes": sum(counted),
        "tokens": of["tokens"],
        **of["cut"],
        "documents": [
            {"document": number, "bits": one["bits"], "bytes": count, "tokens": one["tokens"]}
            for number, (one, count) in enumerate(zip(of["by_document"], counted, strict=True))
        ],
    }
