"""What the papers printed, as data, and the statistics of theirs recomputed from it.

The CSV files beside these modules are the facts: numbers as printed, digit by digit, each with its table or figure.
Like the command line, this package stands on top of the statistics and the report, and no stage imports it.
"""
