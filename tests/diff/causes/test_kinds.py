"""The table of cause kinds is complete: no more and no less than what the functions return."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tracediff.diff import causes, explain
from tracediff.diff.causes.kinds import CAUSE_KINDS

MODULES = sorted(
    {
        *(path for path in Path(causes.__path__[0]).glob("*.py") if path.name != "kinds.py"),
        Path(explain.__file__),
    }
)
KIND = re.compile("[a-z]+(-[a-z]+)*")


def strings(node: ast.AST) -> Iterator[str]:
    """Yield the string literals of an expression, without those that a condition compares."""
    if isinstance(node, ast.IfExp):
        yield from strings(node.body)
        yield from strings(node.orelse)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def kinds_of(tree: ast.Module) -> Iterator[str]:
    """Yield the literals that can become a cause's kind.

    These are first arguments of `Cause`, values given to a variable `kind`, alone or as the first
    of several, what a loop over `kind` runs through, words that functions return, and the values
    in tables of the module.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Cause":
            yield from strings(node.args[0])
        elif isinstance(node, ast.Assign):
            yield from assigned(node.targets[0], node.value)
        elif isinstance(node, ast.For) and ast.unparse(node.target) == "kind":
            yield from (text for item in ast.walk(node.iter) for text in strings(item))
        elif isinstance(node, ast.Return) and node.value is not None:
            yield from (text for text in strings(node.value) if KIND.fullmatch(text))
    for statement in tree.body:
        if isinstance(statement, ast.AnnAssign):
            yield from table_values(statement)


def assigned(target: ast.expr, value: ast.expr) -> Iterator[str]:
    if ast.unparse(target) == "kind":
        yield from strings(value)
    elif isinstance(target, ast.Tuple) and ast.unparse(target.elts[0]) == "kind":
        for item in ast.walk(value):
            if isinstance(item, ast.Tuple):
                yield from strings(item.elts[0])


def table_values(table: ast.AnnAssign) -> Iterator[str]:
    """Yield the kind in each row of a table, whose other words do not matter."""
    for node in ast.walk(table):
        for value in node.values if isinstance(node, ast.Dict) else ():
            words = [text for item in ast.walk(value) for text in strings(item)]
            kinds = [word for word in words if word in CAUSE_KINDS]
            yield from kinds[-1:] or words


def test_every_kind_is_in_the_table_and_no_other() -> None:
    """What the source can return as a kind is what the table explains."""
    found = {kind for path in MODULES for kind in kinds_of(ast.parse(path.read_text("utf-8")))}
    assert found == set(CAUSE_KINDS)


@pytest.mark.parametrize("kind", CAUSE_KINDS)
def test_a_kind_is_a_word_and_its_text_a_sentence(kind: str) -> None:
    """Kinds are lower-case words joined by hyphens; texts begin and end as a sentence does."""
    assert KIND.fullmatch(kind)
    text = CAUSE_KINDS[kind]
    assert text[0].isupper()
    assert text.endswith(".")
    assert "\n" not in text
