"""The dependency direction: which package may import which, and where outside packages stop."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import tracediff

PACKAGE = Path(tracediff.__file__).parent

ALLOWED = {
    "errors": set(),
    "suggestions": set(),
    "automaton": set(),
    "events": {"errors"},
    "storage": {"errors", "events"},
    "recording": {"errors", "events", "storage"},
    "engine": {"errors", "automaton"},
    "toolcalls": {"errors", "events", "automaton"},
    "contracts": {"errors", "events"},
    "diff": {"errors", "events"},
    "workloads": {"errors", "events", "recording", "engine", "toolcalls", "suggestions"},
    "render": {"errors", "events", "diff", "contracts", "comparison", "gate", "calibration"},
    "calibration": {"errors", "events", "diff"},
    "integrations": {"errors", "events", "recording", "engine"},
    "importing": {"errors", "events", "recording", "storage"},
    "comparison": {"errors", "events", "storage", "diff"},
    "gate": {"errors", "events", "storage", "contracts", "diff", "comparison", "workloads"},
    "cli": {
        *("errors", "events", "storage", "recording", "contracts", "diff", "comparison"),
        *("workloads", "gate", "render", "serving", "suggestions", "__init__"),
        *("calibration", "importing"),
        *("streaming", "client"),
    },
    "streaming": {"errors", "events", "recording"},
    "client": {"errors", "recording", "streaming"},
    "serving": {
        *("errors", "events", "storage", "recording", "engine", "workloads", "suggestions"),
    },
    "pytest_plugin": {
        *("errors", "events", "storage", "recording", "diff", "gate", "render", "cli"),
    },
    "__main__": {"cli", "__init__"},
    "__init__": {
        *("contracts", "diff", "errors", "events", "recording", "storage", "workloads"),
    },
}
"""What each part of the package may import of the others."""

HOMES = {
    "orjson": {"storage", "streaming"},
    "jsonschema": {"storage", "toolcalls"},
    "referencing": {"storage", "toolcalls"},
    "zstandard": {"storage"},
    "numba": {"recording"},
    "fastapi": {"serving"},
    "starlette": {"serving"},
    "pydantic": {"serving"},
    "uvicorn": {"serving"},
    "onnx": {"integrations"},
    "onnxruntime": {"integrations"},
    "google": {"integrations"},
    "torch": {"integrations"},
    "httpx": {"client"},
    "typer": {"cli"},
    "pytest": {"pytest_plugin"},
    "rich": {"cli", "render"},
    "safetensors": {"workloads"},
    "blake3": {"events", "integrations", "recording", "workloads"},
    "numpy": {
        *("contracts", "diff", "engine", "events", "recording", "render", "storage", "workloads"),
        *("calibration", "importing", "integrations"),
    },
}
"""Where each outside package may be imported; all others are not allowed at all."""


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def part_of(module: Path) -> str:
    relative = module.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def imported(module: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative import"
            yield str(node.module)


def own_part(name: str) -> str | None:
    parts = name.split(".")
    if parts[0] != "tracediff":
        return None
    return parts[1] if len(parts) > 1 else "__init__"


@pytest.mark.parametrize("module", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_follow_the_direction(module: Path) -> None:
    """A module imports only parts that its own part may know."""
    part = part_of(module)
    found = {own for own in map(own_part, imported(module)) if own not in (None, part)}
    assert found <= ALLOWED[part], f"{part} must not import {found - ALLOWED[part]}"


@pytest.mark.parametrize("module", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_outside_packages_stay_home(module: Path) -> None:
    """An outside package is imported only where it belongs."""
    import sys

    for name in imported(module):
        top = name.partition(".")[0]
        if top in sys.stdlib_module_names or top == "tracediff":
            continue
        assert part_of(module) in HOMES.get(top, set()), f"{module} imports {top}"


def test_every_part_has_its_rule() -> None:
    """No folder or top-level module is without a rule."""
    assert {part_of(module) for module in modules()} == set(ALLOWED)


def test_all_modules_say_what_they_know() -> None:
    """Every module has a docstring."""
    silent = [str(m) for m in modules() if not ast.get_docstring(ast.parse(m.read_text("utf-8")))]
    assert silent == []
