"""The leaderboard: the scoreboard with what made it and checksums of what it was measured on, for other sites."""
