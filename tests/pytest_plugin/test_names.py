"""Which names a golden may have."""

import pytest
from plugin_runs import run_body


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("", id="empty"),
        pytest.param("../loop", id="parent-folder"),
        pytest.param("a/b", id="slash"),
        pytest.param("a\\b", id="backslash"),
        pytest.param("..", id="dots"),
        pytest.param(".hidden", id="hidden"),
        pytest.param("trailing.", id="dot-at-the-end"),
        pytest.param("a b", id="blank"),
        pytest.param("nul\0", id="nul"),
        pytest.param("line\n", id="line-feed"),
        pytest.param("a" * 101, id="long"),
        pytest.param("loop.jsonl", id="with-ending"),
        pytest.param("loop.timing", id="sidecar"),
        pytest.param("loop.partial", id="partial"),
        pytest.param(7, id="number"),
        pytest.param(None, id="none"),
    ],
)
def test_bad_name_is_refused(name: object, pytester: pytest.Pytester) -> None:
    """A name that is no plain file name fails the test and writes nothing, with --update too."""
    result = run_body(pytester, f"assert_trace(record(trace_recorder), {name!r})")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *UsageError: *cannot name a golden: *"])
    assert sorted(path.suffix for path in pytester.path.iterdir()) in ([".py"], ["", ".py"])


@pytest.mark.parametrize("name", ["a", "greedy-float32", "top_p=0.9,k=3", "größe", "v1.2+b"])
def test_good_name(name: str, pytester: pytest.Pytester) -> None:
    """Letters of any script, digits and some signs make a name."""
    run_body(pytester, f"assert_trace(record(trace_recorder), {name!r})").assert_outcomes(passed=1)
    assert (pytester.path / "test_it.traces" / f"{name}.jsonl").is_file()
