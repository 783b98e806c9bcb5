"""Lower bound on the token count of any vocabulary of a given size, and vocabularies close to it.

Every byte of every pre-token gets a price, at most the pre-token's count for a byte as a single token. A longer token
costs the pre-token's count at each place. It saves the excess of its bytes' prices over that cost, if positive. For any
vocabulary and segmentation, the tokens used cost at least the prices of all bytes minus the vocabulary's savings. These
are at most the sum of the K greatest savings, for K tokens in addition to the 256 bytes. Any prices give a valid bound.
Good prices are a dual solution of the linear relaxation. They are searched as prices of edges
(:mod:`tokbench.kernels.relaxation`), or of bytes for long pre-tokens (:mod:`tokbench.kernels.byte_prices`).

The relaxation follows ConvexTok (Tempus, Whittington, Schmidt, Komm and Pimentel, 2026).
"""

MAX_PRETOKEN_BYTES = 256
"""Default of the longest pre-token, in bytes. Words are shorter; runs of letters in web text may be longer."""
