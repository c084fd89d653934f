"""The command `topmix`, and `python -m topmix`. Imports take a second, in which Ctrl-C is no traceback either."""

from __future__ import annotations

import sys


def main() -> None:
    try:
        from topmix.apps.command import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("topmix: stopped by Ctrl-C before there was a result\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
