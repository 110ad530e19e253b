"""Draws docs/diff.svg: what `tracediff diff` really prints in a terminal of 80 columns.

python docs/draw_screenshot.py writes the file anew.
"""

import os
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.text import Text

PICTURE = Path(__file__).parent / "diff.svg"
COLUMNS = 80
COMMANDS = (
    ("run", "text-001"),
    ("run", "text-001", "--set", "max_output_tokens=3", "-o", "b.jsonl"),
    ("diff", "runs/text-001.jsonl", "b.jsonl"),
)
"""The last one is drawn, the others only run."""

FRAME = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" \
role="img" aria-label="{chrome_label}">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; \
font-size: {char_height}px; line-height: {line_height}px; }}
{styles}
</style>
<rect fill="#0d1117" width="{width}" height="{height}" rx="8"/>
<circle cx="20" cy="21" r="6" fill="#ff5f57"/>
<circle cx="40" cy="21" r="6" fill="#febc2e"/>
<circle cx="60" cy="21" r="6" fill="#28c840"/>
<g transform="translate({terminal_x}, {terminal_y})">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""Rich's template without the font that it would load from elsewhere."""


def draw() -> str:
    """Return the picture; the commands run in a folder of their own."""
    with tempfile.TemporaryDirectory() as folder:
        printed = [_run(words, folder) for words in COMMANDS][-1]
    command = f"$ tracediff {' '.join(COMMANDS[-1])}\n"
    console = Console(width=COLUMNS, record=True, file=StringIO(), force_terminal=True)
    console.print(Text.assemble((command, "bold"), Text.from_ansi(printed)), soft_wrap=True)
    frame = FRAME.replace("{chrome_label}", f"Output of tracediff {' '.join(COMMANDS[-1])}")
    return console.export_svg(code_format=frame, unique_id="tracediff")


def _run(words: tuple[str, ...], folder: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "tracediff", *words],
        cwd=folder,
        env={**os.environ, "COLUMNS": str(COLUMNS), "FORCE_COLOR": "1", "NO_COLOR": ""},
        capture_output=True,
        check=False,
    )
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr.decode())
    return done.stdout.decode()


if __name__ == "__main__":
    PICTURE.write_text(draw(), "utf-8")
