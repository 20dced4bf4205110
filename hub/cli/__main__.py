"""``python -m hub.cli``: the same command where no script is installed."""

from hub.cli import main

if __name__ == "__main__":
    main()
