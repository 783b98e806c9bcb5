"""The command line: a module a command, which bears its name.

A module declares what its command takes and imports what that costs: click, and types of arguments. What the command
works with is imported in its function, so that neither help nor a mistake on the command line waits for it.
"""
