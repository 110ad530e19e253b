"""What every test starts from: pytest's means of testing plugins, and a neutral environment."""

import signal
from collections.abc import Iterator

import pytest

pytest_plugins = ["pytester"]

# Colours and encodings (rich and typer read them), and what a CI service announces.
DECISIVE = (
    *("FORCE_COLOR", "NO_COLOR", "PY_COLORS", "TERMINAL_WIDTH", "COLUMNS", "LINES"),
    *("PYTHONIOENCODING", "TYPER_USE_RICH", "_TYPER_FORCE_DISABLE_TERMINAL"),
    *("GITHUB_ACTIONS", "GITHUB_WORKSPACE", "GITHUB_STEP_SUMMARY"),
)


@pytest.fixture(scope="session", autouse=True)
def neutral_environment() -> Iterator[None]:
    """Run every test, and what it starts, as in a plain terminal, wherever the suite runs.

    A shell has what it runs in the background ignore interruptions, and so would its children.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    with pytest.MonkeyPatch.context() as patch:
        for name in DECISIVE:
            patch.delenv(name, raising=False)
        yield
