"""The option ``--baseline CORPUS=VARIANT``: what others are relative to."""

from tokbench.errors import TokbenchError


def by_corpus(baselines: tuple[str, ...]) -> dict[str, str]:
    """The variants named, by corpus.

    Raises:
        TokbenchError: a word is not of this form, or a corpus is given two.
    """
    for baseline in baselines:
        if "=" not in baseline:
            raise TokbenchError(f"--baseline {baseline}: expected CORPUS=VARIANT")
    named = [baseline.split("=", 1) for baseline in baselines]
    for corpus, variant in named:
        if [corpus, variant] != next(one for one in named if one[0] == corpus):
            raise TokbenchError(f"--baseline {corpus}={variant}: this corpus has another one already; name one")
    return dict(named)
