"""What recording a model of 110 million parameters costs, as ratios to the plain run.

    python tests/benchmarks/torch_hooks.py [--rounds N] [--threads N] [--peers]

A random Llama-style model reads 256 tokens and decodes 16 more, plain and recorded in turns within
one process; of several rounds the fastest counts, by wall clock and by processor time. Beside them
stands a hook written by hand that hashes the same outputs with SHA-256 and keeps nothing else, and,
with --peers, other tools that are installed (one run each: they take long). The last lines say how
much memory a process of its own needed at most (on Linux), and how long the events are.
"""

import argparse
import contextlib
import hashlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch_peers import find_peers
from transformers import LlamaConfig, LlamaForCausalLM

from tracediff import Recorder
from tracediff.integrations.torch_modules import record_module
from tracediff.integrations.torch_parameters import identify_parameters

PROMPT, STEPS = 256, 16
BARS = {"digest, outputs": 1.20, "sketch, outputs": 1.30}


def build_model() -> Any:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=32000,
        hidden_size=768,
        intermediate_size=2048,
        num_hidden_layers=12,
        num_attention_heads=12,
        num_key_value_heads=12,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
    )
    return LlamaForCausalLM(config).eval()


def generate(model: Any) -> None:
    """Decode greedily."""
    generator = torch.Generator().manual_seed(1)
    ids, cache = torch.randint(0, 32000, (1, PROMPT), generator=generator), None
    with torch.no_grad():
        for _ in range(STEPS + 1):
            found = model(ids, past_key_values=cache, use_cache=True)
            ids, cache = found.logits[:, -1:].argmax(-1), found.past_key_values


@contextlib.contextmanager
def hashed(model: Any) -> Iterator[list[str]]:
    """Hash every output of every module, as one would by hand."""
    digests: list[str] = []

    def hash_all(value: Any) -> None:
        if isinstance(value, torch.Tensor):
            array = value.detach().contiguous().numpy()
            digests.append(hashlib.sha256(array.reshape(-1).view("u1").data).hexdigest())
        elif isinstance(value, dict):
            hash_all(list(value.values()))
        elif isinstance(value, list | tuple):
            for item in value:
                hash_all(item)

    handles = [
        module.register_forward_hook(lambda _, args, output: hash_all(output))
        for module in model.modules()
    ]
    yield digests
    for handle in handles:
        handle.remove()


@contextlib.contextmanager
def recorded(model: Any, path: Path, level: str, inputs: bool = True) -> Iterator[None]:
    """Record, without the parameters, which are read once and not for each run."""
    with (
        Recorder(path, tensors=level) as recorder,
        record_module(model, recorder, inputs=inputs, parameters=False),
    ):
        yield


def ways(model: Any, folder: Path) -> dict[str, Callable[[], Any]]:
    """Return context managers to run the model in, by name."""
    return {
        "plain": contextlib.nullcontext,
        "sha256 by hand": lambda: hashed(model),
        "digest, outputs": lambda: recorded(model, folder / "a.jsonl", "digest", inputs=False),
        "sketch, outputs": lambda: recorded(model, folder / "b.jsonl", "sketch", inputs=False),
        "digest, inputs too": lambda: recorded(model, folder / "c.jsonl", "digest"),
        "sketch, inputs too": lambda: recorded(model, folder / "d.jsonl", "sketch"),
    }


def measure(model: Any, way: Callable[[], Any]) -> tuple[float, float]:
    """Return wall clock and processor seconds of one run, the end of the recording included."""
    wall, processor = time.perf_counter(), time.process_time()
    with way():
        generate(model)
    return time.perf_counter() - wall, time.process_time() - processor


def forget_peak() -> None:
    """Have the system forget how much memory was needed so far: building the model needs most."""
    Path("/proc/self/clear_refs").write_text("5", "ascii")


def peak() -> int:
    """Return the most memory since then, in kB."""
    status = Path("/proc/self/status").read_text("ascii")
    return int(status.partition("VmHWM:")[2].split()[0])


def peak_memory(name: str) -> float:
    """Return the most memory that a process of its own needed, in MB."""
    command = [sys.executable, __file__, "--only", name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1]) / 1024


def print_times(model: Any, folder: Path, rounds: int) -> tuple[float, float]:
    """Print what each way takes; return what the plain run does."""
    found: dict[str, list[tuple[float, float]]] = {}
    generate(model)
    for _ in range(rounds):
        for name, way in ways(model, folder).items():
            found.setdefault(name, []).append(measure(model, way))
    plain = fastest(found["plain"])
    print(f"{'':21} {'wall s':>8} {'ratio':>6} {'cpu s':>8} {'ratio':>6}  bar")
    for name, times in found.items():
        print_row(name, fastest(times), plain)
    start = time.perf_counter()
    identify_parameters(model)
    print(f"parameters, once      {time.perf_counter() - start:8.3f}")
    return plain


def fastest(times: list[tuple[float, float]]) -> tuple[float, float]:
    wall, processor = zip(*times, strict=True)
    return min(wall), min(processor)


def print_row(name: str, times: tuple[float, float], plain: tuple[float, float]) -> None:
    wall, processor = times
    bar = f"{BARS[name]:.2f}" if name in BARS else ""
    ratios = wall / plain[0], processor / plain[1]
    print(f"{name:21} {wall:8.3f} {ratios[0]:6.2f} {processor:8.3f} {ratios[1]:6.2f}  {bar}")


def print_peers(model: Any, folder: Path, plain: tuple[float, float]) -> None:
    for name, peer in find_peers(folder).items():
        print_row(name, measure(model, partial(peer, model)), plain)


def print_sizes(folder: Path) -> None:
    for name, bound in (("a", 1000), ("b", 2000), ("c", 1000), ("d", 2000)):
        lines = (folder / f"{name}.jsonl").read_bytes().splitlines()
        mean = sum(map(len, lines)) / len(lines)
        print(f"{name}.jsonl: {len(lines)} events, {mean:.0f} bytes each (bar {bound})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--only", help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    model = build_model()
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.0f} million parameters, ", end="")
    print(f"{len(list(model.modules()))} modules, {options.threads} threads")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.only:
            forget_peak()
            measure(model, ways(model, folder)[options.only])
            print(peak())
            return
        plain = print_times(model, folder, options.rounds)
        if options.peers:
            print_peers(model, folder, plain)
        print_sizes(folder)
    memory = {
        name: peak_memory(name) for name in ("plain", "digest, outputs", "sketch, inputs too")
    }
    for name, most in memory.items():
        print(f"memory, {name:20} {most:6.0f} MB {most / memory['plain']:5.2f} (bar 1.10)")


if __name__ == "__main__":
    main()
