"""Two experiments side by side, or two versions of one: what changed between them, cell by cell, beyond noise."""
