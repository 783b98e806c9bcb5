"""Every check, in the order in which a reader meets them."""

from tokbench.fitness import agreement, digits, exports, kept, normaliser, reach, round_trip, speed, vocabulary
from tokbench.fitness.finding import Check

GROUPS: dict[str, tuple[Check, ...]] = {
    "Round trip": (*round_trip.CHECKS, *kept.CHECKS),
    "Agreement": (*agreement.CHECKS, *exports.CHECKS, *normaliser.CHECKS),
    "Vocabulary": (*vocabulary.CHECKS, *reach.CHECKS),
    "Told": (*digits.CHECKS, *speed.CHECKS),
}
