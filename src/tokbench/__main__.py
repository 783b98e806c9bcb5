"""``python -m tokbench``: the command line with the running interpreter, independent of the search path."""

from tokbench.commands.main import main

if __name__ == "__main__":
    main()
