"""`python -m relume` is the command `relume`."""

from relume.command_line import main

if __name__ == "__main__":
    main()
