"""Cuts as JSON holds them."""

from collections.abc import Sequence
from typing import Any

from tokbench.cuts.cut import Cut, Token, disputed
from tokbench.cuts.visible import visible


def as_json(cuts: Sequence[Cut], text: bytes) -> dict[str, Any]:
    """The text in hexadecimal and as it is shown; of each tokenizer where it was found and its tokens; and the borders
    that some have not."""
    return {
        "text": {"hex": text.hex(), "shown": visible(text), "bytes": len(text)},
        "disputed_borders": sorted(disputed(cuts)),
        "tokenizers": [
            {
                "name": one.name,
                "source": one.source or None,
                "placed": one.placed,
                "count": len(one.tokens),
                "tokens": list(map(_token, one.tokens)),
            }
            for one in cuts
        ],
    }


def _token(token: Token) -> dict[str, Any]:
    return {
        "id": token.id,
        "start": token.start,
        "end": token.end,
        "hex": token.data.hex(),
        "shown": visible(token.data),
    }
