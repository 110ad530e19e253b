"""Entry point of the `tracediff` command and of `python -m tracediff`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and exit with its status."""
    from tracediff.cli.interruption import end_when_interrupted

    end_when_interrupted()
    from tracediff.cli.streams import standard_streams

    with standard_streams():
        if sys.argv[1:] == ["--version"]:
            # Answered before the command-line library loads: scripts ask for it often.
            from tracediff import __version__

            print(f"tracediff {__version__}")
            return
        from tracediff.cli.app import app

        app(prog_name="tracediff")


if __name__ == "__main__":
    main()
