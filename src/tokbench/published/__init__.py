"""Published numbers as data, and the papers' statistics recomputed from them.

The CSV files in this package contain the numbers as printed, with all digits and their table or figure. This package
depends on the statistics and the report, and no stage imports it.
"""
