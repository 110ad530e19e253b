"""`tracediff record`: ask a model server, record its answer."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from tracediff.cli.answer_output import finish_recording
from tracediff.cli.trace_output import check_output, named_partial
from tracediff.errors import UsageError

command = typer.Typer(add_completion=False)


@command.command()
def record(
    url: Annotated[
        str, typer.Argument(metavar="URL", help="Whole URL, as http://HOST/v1/chat/completions.")
    ],
    request: Annotated[
        Path,
        typer.Option("--request", metavar="FILE", help="The JSON body, which is sent as it is."),
    ],
    output: Annotated[str, typer.Option("-o", "--output", metavar="TRACE", help="Trace to write.")],
    api: Annotated[
        str | None,
        typer.Option(
            "--api",
            metavar="API",
            help="openai-chat, openai-responses or anthropic-messages. Default: as the path of the "
            "URL says.",
        ),
    ] = None,
    key_env: Annotated[
        str | None,
        typer.Option(
            "--key-env",
            metavar="NAME",
            help="Variable that holds the key. Default: OPENAI_API_KEY or ANTHROPIC_API_KEY; "
            "without it no key is sent.",
        ),
    ] = None,
    tries: Annotated[
        int, typer.Option("--tries", min=1, max=20, help="Requests at most; 1 never tries again.")
    ] = 3,
    total: Annotated[
        float,
        typer.Option(
            "--max-time",
            min=0,
            help="Seconds after which no further try begins.",
            metavar="SECONDS",
        ),
    ] = 60.0,
    silence: Annotated[
        float,
        typer.Option(
            "--timeout", min=0.1, help="Seconds of silence that end a try.", metavar="SECONDS"
        ),
    ] = 120.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Send a request to a model server and record the answer, layer by layer.

    Tried again are 429, 500, 502, 503, 504 and lost connections, after the
    time that Retry-After says; a used-up quota is not. Neither key nor URL
    are recorded.

    Exit status: 0 the answer is whole and keeps its contract, 1 a rule is
    broken (an error is an answer too), 2 it is not whole.
    """
    # The module itself is called record: what it needs is loaded when it is used.
    from tracediff.storage.sources import open_source
    from tracediff.streaming.dialects import guess_api, new_dialect

    known = api or _guessed(guess_api(url), url)
    new_dialect(known)
    path = check_output(output, request)
    if find_spec("httpx") is None:
        raise UsageError("`tracediff record` needs httpx: pip install 'tracediff[record]'")
    from tracediff.client.asking import record_answer
    from tracediff.client.connection import open_client, real_clock
    from tracediff.client.exchange import Question, check_url, shown_url
    from tracediff.client.keys import find_key
    from tracediff.client.retrying import RetryPolicy
    from tracediff.storage import TraceWriter
    from tracediff.streaming.request import read_request
    from tracediff.workloads.environment import describe_environment

    key = find_key(known, key_env, os.environ)
    with open_source(request) as stream:
        body = stream.read()
    read_request(body, known, str(request))
    check_url(url)
    question = Question(url, body, known, key)
    existed = path.exists()

    def open_writer() -> TraceWriter:
        return TraceWriter(path, environment=describe_environment())

    with named_partial(path), open_client(silence) as client:
        policy = RetryPolicy(tries, total)
        recorded = record_answer(question, open_writer, client, real_clock(), policy)
    shown = shown_url(url).replace(key.secret or "\0", "***")
    finish_recording(recorded, shown, path, existed, as_json=as_json)


def _shown(url: str) -> str:
    """Return a URL without user, password and query, before httpx may be there."""
    start, _, rest = url.partition("?")[0].rpartition("@")
    scheme = start.partition("//")[0] + "//" if "//" in start else ""
    return repr(scheme + rest)[:100]


def _guessed(api: str | None, url: str) -> str:
    if api is None:
        raise UsageError(
            f"the path of {_shown(url)} does not say which API is asked; give "
            "--api openai-chat, openai-responses or anthropic-messages"
        )
    return api
