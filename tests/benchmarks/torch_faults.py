"""The ten faults of `tests/mutants/test_torch_faults.py` in a model of 135 million parameters.

    python tests/benchmarks/torch_faults.py

Prints for each fault what a comparison says first, and what of that is wrong; then the same for two
threads and for a row in a batch of two, which must raise no alarm.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from mutants.test_torch_faults import FAULTS, NO_JUMP, missed
from mutants.torch_model import LARGE, Loop, record

from tracediff import diff_traces


def main() -> None:
    plain = record(size=LARGE)
    right = 0
    for name, fault in FAULTS.items():
        found = diff_traces(plain, record(fault.edit, fault.loop, size=LARGE))
        wrong = missed(fault, found)
        right += not wrong
        said = f"{found.cause.kind}: {found.cause.explanation}" if found.cause else "nothing"
        print(f"{name:16} {'WRONG ' + ', '.join(wrong) if wrong else 'right'}; {said}", flush=True)
    print(f"{right} of {len(FAULTS)} right")
    for name, loop, threads in (("two threads", Loop(), 2), ("batch of two", Loop(rows=2), 1)):
        found = diff_traces(plain, record(None, loop, threads, LARGE))
        ratio = found.drift.ratio if found.drift else 0.0
        said = "no jump" if ratio < NO_JUMP else "a JUMP"
        print(f"{name:16} {found.outcome.value}, {said} ({ratio:.3g} times the median)")


if __name__ == "__main__":
    main()
