"""What a generation is asked for, in a trace's words, and what cannot be recorded of it.

Knows generation configs by their fields. Must not know models or events.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import isfinite
from types import MappingProxyType
from typing import Any, Final

from tracediff.engine.stopping import FinishReason
from tracediff.errors import UsageError

_ONE_TOKEN_A_PASS: Final = ("greedy_search", "sample")
"""Ways to generate in which each pass gives each row one token."""

_OTHER_WAYS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "num_beams": "beam search",
        "num_beam_groups": "beam search",
        "penalty_alpha": "contrastive search",
        "dola_layers": "DoLa",
        "prompt_lookup_num_tokens": "assisted generation (prompt lookup)",
        "assistant_model": "assisted generation",
        "assistant_early_exit": "assisted generation",
        "use_mtp": "assisted generation",
        "custom_generate": "a generation loop of its own",
        "prefill_chunk_size": "prefill in chunks",
        "constraints": "constrained beam search",
        "force_words_ids": "constrained beam search",
        "inputs_embeds": "embeddings instead of ids",
        "past_key_values": "a cache that is filled already",
        "cache": "a cache that is filled already",
    }
)
_SAID_OTHERWISE: Final = frozenset(
    (
        *("min_new_tokens", "min_length", "max_new_tokens", "max_length", "stop_strings"),
        *("eos_token_id", "pad_token_id", "repetition_penalty", "temperature", "top_k", "top_p"),
        *("use_cache", "disable_compile", "transformers_version", *_OTHER_WAYS),
    )
)
"""Fields of a config that stand in the settings under another name, that a recording sets itself,
or that it refuses."""

_SUFFIXES: Final = ("LogitsProcessor", "LogitsWarper", "Processor", "Criteria")
_REASONS: Final[Mapping[str, FinishReason]] = MappingProxyType(
    {
        "eos_token": FinishReason.EOS,
        "stop_string": FinishReason.STOP_SEQUENCE,
        "max_length": FinishReason.MAX_TOKENS,
    }
)


def refuse_other_ways(config: Any, arguments: Mapping[str, Any]) -> None:
    """Raise UsageError where `arguments`, or else the config, ask for what is not recorded."""
    for name, way in _OTHER_WAYS.items():
        value = arguments[name] if name in arguments else getattr(config, name, None)
        is_one = isinstance(value, int) and value == 1 and name.startswith("num_beam")
        if value is None or value is False or is_one:
            continue
        raise UsageError(
            f"record_generate records greedy search and sampling; {name}= asks for {way}"
        )


def refuse_mode(config: Any) -> None:
    """Raise UsageError for a resolved config whose way to generate is not recorded."""
    mode = getattr(config.get_generation_mode(), "value", "")
    if mode not in _ONE_TOKEN_A_PASS:
        raise UsageError(
            f"record_generate records greedy search and sampling; the generation config asks for "
            f"{str(mode).replace('_', ' ')}"
        )


def settings_of(config: Any, prompt_length: int, seed: int) -> dict[str, Any]:
    """Return the settings of a run: those that contracts know, under their names, and all others.

    `config` is the resolved one, `prompt_length` is with padding. Without sampling, what only
    sampling reads is off: temperature 0, top_k 0, top_p 1. Of the others, those stand there that
    differ from the default of transformers, under the names that it has for them.
    """
    sampled = bool(config.do_sample)
    shortest = max(config.min_new_tokens or 0, (config.min_length or 0) - prompt_length)
    limit = config.max_length
    settings: dict[str, Any] = {
        "minimum_output_tokens": max(shortest, 0),
        "max_output_tokens": None if limit is None else limit - prompt_length,
        "stop_sequences": stops_of(config),
        "eos_token_ids": sorted(ids_of(config.eos_token_id)),
        "repetition_penalty": float(_given(config.repetition_penalty, 1.0)),
        "temperature": float(_given(config.temperature, 1.0)) if sampled else 0.0,
        "top_k": int(config.top_k or 0) if sampled else 0,
        "top_p": float(_given(config.top_p, 1.0)) if sampled else 1.0,
        "kv_cache": bool(config.use_cache),
    }
    pad = _pad_id(config)
    settings |= {} if pad is None else {"pad_token_id": pad}
    return settings | ({"seed": seed} if sampled else {}) | _other_settings(config)


def _other_settings(config: Any) -> dict[str, Any]:
    """Return further fields of a config that are plain values and not the default ones."""
    found = {}
    for name, default in _defaults_of(type(config)).items():
        value = getattr(config, name, None)
        if name in _SAID_OTHERWISE or name.startswith("_") or not _is_plain(value):
            continue
        if _plain_value(value) != _plain_value(default) and (value is not False or default):
            found[name] = _plain_value(value)
    return found


def _defaults_of(kind: type) -> dict[str, Any]:
    """Return the fields that a class of configs knows; from transformers 5 on all begin as None."""
    resolved = getattr(kind, "_get_default_generation_params", dict)
    return {**vars(kind()), **resolved()}


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return isinstance(value, bool | int | float | str)


def _plain_value(value: Any) -> Any:
    """Return lists for tuples, and text for numbers that JSON has no name for."""
    if isinstance(value, list | tuple):
        return [*map(_plain_value, value)]
    return str(value) if isinstance(value, float) and not isfinite(value) else value


def _pad_id(config: Any) -> int | None:
    """Return the id that fills rows that have ended, as `generate` has found it."""
    held = getattr(config, "_pad_token_tensor", None)
    held = getattr(config, "pad_token_id", None) if held is None else held
    return None if held is None else int(held)


def stops_of(config: Any) -> list[str]:
    """Return the stop strings of a config."""
    found = config.stop_strings
    return [found] if isinstance(found, str) else [*(found or ())]


def ids_of(found: Any) -> frozenset[int]:
    """Return the ids of an entry that may be None, one id, a list or a tensor of them."""
    found = found.tolist() if hasattr(found, "tolist") else found
    if found is None:
        return frozenset()
    return frozenset(int(token) for token in (found if isinstance(found, list) else [found]))


def names_of(processors: Sequence[Any]) -> list[str]:
    """Return a name for each processor: of its class, `top_k` of TopKLogitsWarper.

    A second one of a class has `.2` behind it.
    """
    names: list[str] = []
    for processor in processors:
        name = plain_name(processor)
        count = 1 + sum(known == name or known.startswith(f"{name}.") for known in names)
        names.append(f"{name}.{count}" if count > 1 else name)
    return names


def plain_name(processor: Any) -> str:
    """Return the name of an object's class in words with underscores, without its kind."""
    name = getattr(processor, "__name__", type(processor).__name__)
    for suffix in _SUFFIXES:
        if name.endswith(suffix) and name != suffix:
            name = name.removesuffix(suffix)
            break
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def reason_of(criteria: Sequence[str]) -> FinishReason | str:
    """Return why a row ended of the names of the criteria that ended it.

    An end token comes before a stop sequence, that before the limit, and all others have their
    own name.
    """
    for name, reason in _REASONS.items():
        if name in criteria:
            return reason
    return criteria[0]


def _given(value: Any, default: float) -> Any:
    return default if value is None else value
