"""How few tokens any vocabulary of a size could need: a proven bound, and vocabularies that come near it.

A price is put on every byte of every pre-token, at most its count for a byte by itself. A token that costs as much as
its pre-token's count saves at a place what its bytes are priced above that. Whatever the vocabulary and the
segmentation, the tokens used then cost at least the prices of all bytes less what the vocabulary saves, which is at
most the sum of the K greatest savings, K the tokens beside the 256 bytes. Any prices give a bound; good ones are the
dual solution of the linear relaxation. They are looked for through prices of edges
(:mod:`tokbench.kernels.relaxation`), or of bytes where pre-tokens are long (:mod:`tokbench.kernels.byte_prices`).

The relaxation follows ConvexTok (Tempus, Whittington, Schmidt, Komm and Pimentel, 2026).
"""

MAX_PRETOKEN_BYTES = 256
"""Default of the longest pre-token, in bytes. Words are shorter; runs of letters in text of the web are longer."""
