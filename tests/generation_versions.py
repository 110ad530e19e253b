"""Records generations into the folder named on the command line, for two versions to compare."""

import sys
from pathlib import Path

import torch
from generation_runs import PROMPT, greedy, llama, padded, record_generate

RUNS = {
    "greedy": (torch.tensor(PROMPT), {}),
    "sampled": (torch.tensor(PROMPT), {"do_sample": True, "temperature": 0.8, "top_k": 40}),
    "padded": (padded(), {}),
    "penalty-padded": (padded(), {"repetition_penalty": 1.2}),
}
"""What is generated, by the name of its trace."""


def record_all(folder: Path) -> None:
    """Record every generation with one thread and one seed."""
    torch.set_num_threads(1)
    for name, (inputs, options) in RUNS.items():
        torch.manual_seed(7)
        record_generate(
            llama(), inputs, greedy(4, **options), recorder=folder / f"{name}.jsonl", level="values"
        )


if __name__ == "__main__":
    record_all(Path(sys.argv[1]))
