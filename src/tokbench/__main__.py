"""``python -m tokbench``: the command line of the interpreter that runs, whatever the search path holds."""

from tokbench.commands.main import main

if __name__ == "__main__":
    main()
