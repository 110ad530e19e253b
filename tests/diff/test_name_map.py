"""Rules of a name map: how they are read, what they make of a name, what they must not do."""

import pytest

from tracediff.diff.name_map import MapRule, NameMap, is_spellable, match_names, parse_name_map
from tracediff.errors import UsageError


def parsed(*lines: str) -> NameMap:
    return parse_name_map("\n".join(lines), "names.map")


@pytest.mark.parametrize(
    ("rule", "name", "expected"),
    [
        pytest.param("a -> b", "a", "b", id="whole-name"),
        pytest.param("a -> b", "aa", None, id="not-a-part-of-a-name"),
        pytest.param("layers.*.x -> blocks.*.y", "layers.10.x", "blocks.10.y", id="a-star"),
        pytest.param("*.a.* -> *.b.*", "m.a.w", "m.b.w", id="two-stars-in-order"),
        pytest.param("*.a.* -> *.b.*", "m.a.n.a.w", "m.b.n.a.w", id="first-star-as-short-as-fits"),
        pytest.param("* -> model.*", "x.y", "model.x.y", id="a-star-takes-separators"),
        pytest.param("a* -> b*", "a", "b", id="a-star-takes-nothing"),
        pytest.param("a[0] -> b", "a[0]", "b", id="brackets-are-themselves"),
        pytest.param("a?b -> b", "axb", None, id="a-question-mark-is-itself"),
        pytest.param("a.b -> c", "axb", None, id="a-dot-is-itself"),
        pytest.param("aten::mm -> mm", "aten::mm", "mm", id="colons-are-no-prefix"),
        pytest.param(r"a.* -> b\1.*", "a.x", r"b\1.x", id="no-other-way-to-capture"),
    ],
)
def test_a_rule_rewrites_whole_names(rule: str, name: str, expected: str | None) -> None:
    """Only a star is special; the n-th of the right side is what the n-th of the left stood for."""
    (found,) = parsed(rule).rules
    assert found.rewrite(name) == expected


def test_comments_prefixes_and_order() -> None:
    """Comments say nothing, a prefix restricts a rule, the first rule that fits decides."""
    found = parsed("# names", "", "tensor:a -> t  # only tensors", "a -> b", "a -> c")
    assert [rule.text for rule in found.rules] == ["tensor:a -> t", "a -> b", "a -> c"]
    assert found.find("tensor", "a") == (found.rules[0], "t")
    assert found.find("event", "a") == (found.rules[1], "b")
    assert found.find("key", "x") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a", "names.map:1: 'a' is no rule", id="no-arrow"),
        pytest.param("\na ->", "names.map:2: 'a ->' is no rule", id="no-right"),
        pytest.param("a -> b -> c", "is no rule", id="two-arrows"),
        pytest.param("event: -> b", "nothing stands between event: and ->", id="only-a-prefix"),
        pytest.param("a.* -> b", "has 1 stars on the left and 0 on the right", id="a-lost-star"),
        pytest.param(
            "a -> b.*", "has 0 stars on the left and 1 on the right", id="a-star-of-nothing"
        ),
        pytest.param("# nothing\n", "holds no rule", id="empty"),
    ],
)
def test_lines_that_are_no_rules(text: str, message: str) -> None:
    """The error names file and line and says what a rule looks like."""
    with pytest.raises(UsageError) as caught:
        parse_name_map(text, "names.map")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("names", "rules", "collision"),
    [
        pytest.param(["a", "b"], ["a -> b", "b -> a"], False, id="a-swap-is-none"),
        pytest.param(["a", "b"], ["a -> c", "b -> c"], True, id="two-rules-one-name"),
        pytest.param(["a", "b"], ["a -> b"], True, id="onto-a-name-that-stays"),
        pytest.param(["a.1", "b.1"], ["a.* -> c.*", "b.* -> c.*"], True, id="by-stars"),
    ],
)
def test_two_left_names_for_one_right_name(
    names: list[str], rules: list[str], collision: bool
) -> None:
    """A map under which two names of the left trace would be one is refused."""
    name_map = parsed(*rules)
    if not collision:
        matched = match_names({"event": names}, name_map)
        assert sorted(matched.right["event"].values()) == sorted(names)
        assert matched.unused == ()
        return
    with pytest.raises(UsageError, match="would both stand for"):
        match_names({"event": names}, name_map)


def test_rules_that_fit_nothing_are_named() -> None:
    """A rule whose left side fits no name of the left trace is reported."""
    matched = match_names({"event": ["a"], "tensor": ["t"]}, parsed("a -> b", "event:t -> u"))
    assert matched.unused == (MapRule("t", "u", "event"),)
    assert matched.shadowed == {}


@pytest.mark.parametrize(
    ("rules", "shadowed"),
    [
        pytest.param(["x -> y", "x -> w"], {"x -> w": "x -> y"}, id="the-same-name"),
        pytest.param(["* -> *", "event:x -> w"], {"event:x -> w": "* -> *"}, id="a-glob"),
        pytest.param(["event:x -> y", "x -> w"], {}, id="another-kind-is-left"),
        pytest.param(["x -> y", "x -> y"], {}, id="the-same-rule-twice"),
    ],
)
def test_rules_that_earlier_ones_shadow(rules: list[str], shadowed: dict[str, str]) -> None:
    """A rule that fits names, all taken by earlier ones, is not one that fits nothing."""
    matched = match_names({"event": ["x"], "tensor": ["x"]}, parsed(*rules))
    assert matched.unused == ()
    assert {rule.text: taker.text for rule, taker in matched.shadowed.items()} == shadowed


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("model.layers.0", True, id="a-path"),
        pytest.param("a b", True, id="a-space-inside"),
        pytest.param("a#b", True, id="a-hash-inside"),
        pytest.param("a #b", False, id="a-comment"),
        pytest.param("a*", False, id="a-star"),
        pytest.param("a -> b", False, id="an-arrow"),
        pytest.param("a\nb", False, id="a-line-break"),
        pytest.param(" a", False, id="a-space-around"),
        pytest.param("tensor:x", False, id="a-prefix"),
    ],
)
def test_names_that_a_rule_can_spell(name: str, expected: bool) -> None:
    """A name is spellable if the rule that holds it reads back and means it alone."""
    assert is_spellable(name) is expected
    if expected:
        (rule,) = parsed(f"{name} -> x").rules
        assert rule == MapRule(name, "x")
