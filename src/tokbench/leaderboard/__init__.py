"""The scoreboard for others' sites: with what made it, and checksums of what it was measured on."""
