"""The program `covmis`, also as `python -m covmis_build`; interruptions are reported in one line even during loading."""

from __future__ import annotations

import sys


def main() -> None:
    """Load the command line and run it."""
    try:
        from covmis_build.cli import main as program

        program()
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
