"""The HTML report, figures, tables for publication, leaderboard, bibliography."""
