"""All faults by name: the table they stand in and their own name."""

from collections.abc import Sequence

from mutants.ddim_faults import DDIM_FAULTS
from mutants.image_faults import IMAGE_FAULTS
from mutants.mutant import Mutant
from mutants.text_edits import TEXT_EDITS
from mutants.text_ending_faults import ENDING_FAULTS
from mutants.text_model_faults import MODEL_FAULTS
from mutants.text_token_faults import TOKEN_FAULTS
from mutants.tool_faults import TOOL_FAULTS

MUTANTS: Sequence[tuple[str, Mutant]] = [
    (f"{table}:{mutant.name}", mutant)
    for table, mutants in (
        ("text-model", MODEL_FAULTS),
        ("text-tokens", TOKEN_FAULTS),
        ("text-endings", ENDING_FAULTS),
        ("text-trace", TEXT_EDITS),
        ("ddim", DDIM_FAULTS),
        ("image", IMAGE_FAULTS),
        ("tool", TOOL_FAULTS),
    )
    for mutant in mutants
]
