"""DebugMode logs as traces. The lines have the form that torch 2.13.0 prints."""

from pathlib import Path

import pytest

from tracediff.diff import diff_traces
from tracediff.errors import UsageError
from tracediff.events import Trace
from tracediff.importing.debugmode import import_debugmode
from tracediff.importing.debugmode_line import Signature, flat_hashes, parse_call
from tracediff.storage import read_trace

LOG = """\
    [nn.Mod] Net
      [nn.Mod] Net.fc
        aten::t(t$0: f32[4, 3])  ->  t$1: f32[3, 4]  # {'hash': 3.25}
        aten::mm(t$3: f32[2, 3], t$1: f32[3, 4])  ->  t$4: f32[2, 4]  # {'hash': 2.5}
      aten::topk(t$4: f32[4], 2)  ->  ('t$5: f32[2]', 't$6: i64[2]')  # {'hash': (1.5, 5.0)}
    # File: net.py:9 in forward, code: return x + 1

  torch.add(t: bf16[2, 2], 1)  ->  t: bf16[2, 2]
      aten::add.Tensor(t: bf16[2, 2], 1)  ->  t: bf16[2, 2]
"""


def imported(log: str, folder: Path, name: str = "run") -> Trace:
    (folder / f"{name}.log").write_text(log)
    import_debugmode(folder / f"{name}.log", folder / f"{name}.jsonl")
    return read_trace(folder / f"{name}.jsonl")


def test_operators_become_events(tmp_path: Path) -> None:
    """The innermost module is the component; numbers of tensors are left out of the call."""
    trace = imported(LOG, tmp_path)
    calls = [(event.component, event.event_type) for event in trace.events[1:]]
    assert calls == [
        ("Net.fc", "aten::t"),
        ("Net.fc", "aten::mm"),
        ("Net", "aten::topk"),
        ("function", "torch.add"),
        ("operator", "aten::add.Tensor"),
    ]
    topk = trace.events[3].payload
    assert topk["state"] == {"call": "(t: f32[4], 2)  ->  ('t: f32[2]', 't: i64[2]')"}
    outputs = [(r["name"], r["dtype"], r["shape"], r["digest"]) for r in topk["outputs"]]
    assert outputs == [
        ("Net.aten::topk.output.0", "float32", [2], "~l1=1.5"),
        ("Net.aten::topk.output.1", "int64", [2], "~l1=5.0"),
    ]
    assert trace.events[5].payload["outputs"][0]["digest"] == "~none"


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        pytest.param(LOG, "payload.inputs[Net.fc.aten::t.input.0]", id="nothing-differs"),
        pytest.param(
            LOG.replace("2.5}", "2.75}"), "payload.outputs[Net.fc.aten::mm.output.0]", id="norm"
        ),
        pytest.param(LOG.replace("4], 2)", "4], 3)"), "payload.state.call", id="argument"),
    ],
)
def test_the_first_shown_difference(changed: str, field: str, tmp_path: Path) -> None:
    """Hashes show differences; where there are none, the first operator is undecidable."""
    found = diff_traces(imported(LOG, tmp_path), imported(changed, tmp_path, "other"))
    assert found.first is not None
    assert found.first.difference.field == field


@pytest.mark.parametrize(
    ("found", "tensors", "expected"),
    [
        pytest.param(1.5, 1, [{"l1": 1.5}], id="norm"),
        pytest.param(7, 1, [{"xor64": 7}], id="hash-tensor"),
        pytest.param((1.5, 7), 1, [{"l1": 1.5, "xor64": 7}], id="both"),
        pytest.param((1.5, 2.5), 2, [{"l1": 1.5}, {"l1": 2.5}], id="two-tensors"),
        pytest.param(
            ((1.5, 7), (2.5, 8)), 2, [{"l1": 1.5, "xor64": 7}, {"l1": 2.5, "xor64": 8}], id="nested"
        ),
        pytest.param((((1.5,), None), {}), 1, [{"l1": 1.5}], id="inputs-with-plain-arguments"),
        pytest.param("abc", 1, [{"text": "abc"}], id="another-hash"),
        pytest.param((1.5, 2.5, 3.5), 2, [{}, {}], id="another-number"),
        pytest.param(None, 2, [{}, {}], id="none"),
    ],
)
def test_hashes(found: object, tensors: int, expected: list[dict[str, object]]) -> None:
    """One or two hashes for each tensor, told apart by their type."""
    assert flat_hashes(found, tensors) == expected


def test_hashes_that_are_no_numbers() -> None:
    """NaN and infinity stand as bare words in the log."""
    call = parse_call(
        "aten::x(t: f32[2])  ->  t: f32[2]  # {'hash': nan, 'input_hash': ((-inf,), {})}"
    )
    assert flat_hashes(call.input_hashes, 1) == [{"l1": float("-inf")}]
    (own,) = flat_hashes(call.output_hashes, 1)
    assert own["l1"] != own["l1"]


def test_a_triton_kernel() -> None:
    """The hashes after the kernel ran are those of its outputs, by argument."""
    call = parse_call(
        "[triton] triton_add(in_ptr0=t: f32[8], out_ptr0=t: f32[8], xnumel=8)",
        [
            "# pre-kernel hashes: {in_ptr0: 1.5, out_ptr0: 0.0}",
            "# post-kernel hashes: {in_ptr0: 1.5, out_ptr0: 2.5}",
        ],
    )
    assert (call.component, call.name) == ("triton", "triton_add")
    assert call.outputs == (
        Signature("float32", (8,), "in_ptr0"),
        Signature("float32", (8,), "out_ptr0"),
    )
    assert flat_hashes(call.input_hashes, 2) == [{"l1": 1.5}, {"l1": 0.0}]
    assert flat_hashes(call.output_hashes, 2) == [{"l1": 1.5}, {"l1": 2.5}]


def test_a_result_over_several_lines(tmp_path: Path) -> None:
    """What is not indented goes on with the line before; addresses are no part of a name."""
    log = (
        "  <method 'topk' of 'torch._C.TensorBase' objects>(t: f32[4], 2)  ->  "
        "torch.return_types.topk(\nvalues='t: f32[2]',\nindices='t: i64[2]')\n"
        "    <slot wrapper '__get__' of object at 0x7f99f5661fc0>(t: f32[4])\n"
    )
    topk, getter = imported(log, tmp_path).events[1:]
    assert topk.event_type == "<method 'topk' of 'torch._C.TensorBase' objects>"
    names = [record["name"].rpartition(".")[2] for record in topk.payload["outputs"]]
    assert names == ["values", "indices"]
    assert getter.event_type == "<slot wrapper '__get__' of object>"


CUT_OFF = {
    "cut-in-arguments": "aten::add(t: f32[2",
    "cut-before-result": "aten::add(t: f32[2], 1)  ->",
    "cut-in-result": "aten::topk(t: f32[4], 2)  ->  ('t: f32[2]', 't: i64[",
    "cut-before-hashes": "aten::add(t: f32[2], 1)  ->  t: f32[2]  #",
    "cut-in-hashes": "aten::add(t: f32[2], 1)  ->  t: f32[2]  # {'hash': 1.5, 'input_hash': (",
    "cut-in-kernel-hashes": "# post-kernel hashes: {in_ptr0: 1.5, out",
}


@pytest.mark.parametrize(
    ("log", "message"),
    [
        pytest.param("hello\n", "run.log:1: the first line is not indented", id="other-text"),
        pytest.param("  aten::t\n", "run.log:1: 'aten::t' is no line of DebugMode", id="no-call"),
        pytest.param(
            "  a(t: f32[1])  # {'hash': __import__('os')}\n", "run.log:1: the hashes", id="code"
        ),
        pytest.param(
            "  a()  # {" + "(" * 5000 + "\n  b()\n", "run.log:1: the hashes", id="depth-bomb"
        ),
        pytest.param("  a(" + "x" * 1_000_001 + ")\n", "run.log:1: the line has", id="long-line"),
        pytest.param(f"  a(t: f32[{1 << 70}])\n", "run.log:1: the shape", id="gigantic-shape"),
        pytest.param("\n", "holds no operator", id="empty"),
        *(
            pytest.param(f"{LOG}      {end}", "run.log:10: the last line ends too early", id=name)
            for name, end in CUT_OFF.items()
        ),
    ],
)
def test_what_is_no_log(log: str, message: str, tmp_path: Path) -> None:
    """The error names file and line, nothing is executed, and no trace is left."""
    with pytest.raises(UsageError) as caught:
        imported(log, tmp_path)
    assert message in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["run.log"]
