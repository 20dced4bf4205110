"""``python -m worker_agent.cli``: the same command where no script is installed."""

from worker_agent.cli import main

if __name__ == "__main__":
    main()
