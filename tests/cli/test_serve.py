"""`tracediff serve` as a user starts and stops it."""

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from local_server import ANSWER, CHAT, MESSAGES, TOOL_MODEL, chat, message, post

from tracediff.cli import serve_command
from tracediff.errors import UsageError
from tracediff.storage import read_trace

# A shell's background ignores Ctrl-C, and tests may run in one.
FOREGROUND = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from tracediff.__main__ import main
main()
"""


def test_missing_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra the command says which line installs it."""
    monkeypatch.setattr(serve_command, "find_spec", lambda name: None)
    with pytest.raises(
        UsageError, match=r"needs fastapi and uvicorn: pip install 'tracediff\[serve\]'"
    ):
        serve_command.serve()


def test_faults_are_listed(tracediff: Callable[..., Any]) -> None:
    """The faults are listed with their meanings, without the extra too."""
    listed = tracediff("serve", "--list-faults")
    assert listed.status == 0
    assert "drop-after[:N]      the connection ends after N deltas (1)\n" in listed.out
    named = json.loads(tracediff("serve", "--list-faults", "--json").out)
    assert len(named) == len(listed.out.splitlines())


class TestServer:
    """With the packages of the extra."""

    pytestmark = pytest.mark.serve

    @pytest.fixture(autouse=True)
    def _packages(self) -> None:
        pytest.importorskip("fastapi", reason="needs the extra serve")
        pytest.importorskip("uvicorn", reason="needs the extra serve")

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_from_start_to_stop(self, number: signal.Signals, tmp_path: Path) -> None:
        """It tells its address, answers, records, and stops with status 0 when it is told to."""
        process = subprocess.Popen(
            [sys.executable, "-c", FOREGROUND, "serve", "--port", "0", "--record", "d", "--json"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONUTF8": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "}\n")
        told = json.loads("".join(lines) + "}")
        assert told["format"] == "tracediff-serve/1"
        answered = post(told["address"], CHAT, chat()).json
        assert answered["choices"][0]["message"]["content"] == ANSWER
        process.send_signal(number)
        _, messages = process.communicate(timeout=30)
        assert (process.returncode, messages) == (0, "tracediff: stopped\n")
        names = sorted(path.name for path in (tmp_path / "d").iterdir())
        assert names == ["req-000001.jsonl", "req-000001.timing.jsonl"]

    def test_stopped_in_the_middle_of_an_answer(self, tmp_path: Path) -> None:
        """Ctrl-C breaks off what is under way; its trace says so, and no stack is printed."""
        process = subprocess.Popen(
            [sys.executable, "-c", FOREGROUND, "serve", "--port", "0", "--record", "d", "--json"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONUTF8": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        told = json.loads("".join(iter(process.stdout.readline, "}\n")) + "}")
        number = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        tools = [{"name": "count", "input_schema": number}]
        body = message("hi", TOOL_MODEL, tools=tools, max_tokens=900, stream=True)
        place = urlsplit(told["address"])
        connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=30)
        connection.request("POST", MESSAGES, json.dumps(body), {"content-type": "application/json"})
        connection.getresponse().read1()
        process.send_signal(signal.SIGINT)
        _, messages = process.communicate(timeout=30)
        connection.close()
        assert (process.returncode, messages) == (0, "tracediff: stopped\n")
        trace = read_trace(tmp_path / "d" / "req-000001.jsonl")
        reasons = [event.payload.get("choice", {}).get("finish_reason") for event in trace.events]
        assert "cancelled" in reasons

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            pytest.param(["--fault", "x"], "there is no fault 'x'", id="fault"),
            pytest.param(["--kernel", "x"], "unknown kernel 'x'", id="kernel"),
            pytest.param(
                ["--record", "d", "--tensors", "x"], "unknown tensor level 'x'", id="tensors"
            ),
            pytest.param(["--host", "256.1.1.1"], "cannot listen on 256.1.1.1", id="host"),
            pytest.param(["--port", "70000"], "65535", id="port"),
            pytest.param(
                ["--record", "/dev/null/x"], "cannot record into /dev/null/x", id="folder"
            ),
        ],
    )
    def test_wrong_options(
        self, tracediff: Callable[..., Any], options: list[str], message: str
    ) -> None:
        """What cannot be started is one line and status 2."""
        done = tracediff("serve", "--port", "0", *options)
        assert done.status == 2
        assert message in done.err
        assert done.out == ""

    def test_port_in_use(self, tracediff: Callable[..., Any]) -> None:
        """A port that is taken is named, and what to do."""
        import socket

        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = str(taken.getsockname()[1])
            done = tracediff("serve", "--port", port)
        assert done.status == 2
        assert f"cannot listen on 127.0.0.1 port {port}" in done.err
        assert "choose another --port" in done.err
