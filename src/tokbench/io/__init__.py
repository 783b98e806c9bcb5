"""What comes from outside is read here: numbers, YAML, JSON, paths. One module each, so that one rule holds everywhere.

Whatever is wrong is told in one line, a ``TokbenchError`` that names the key, the file or the record and the remedy.
"""
