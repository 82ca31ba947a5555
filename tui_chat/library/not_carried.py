"""What a preset of SillyTavern's says that one of ours does not, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tui_chat.library.reading import listed, mapping
from tui_chat.models.envelope import Level

_NEUTRAL = {
    "top_p": 1,
    "top_k": 0,
    "min_p": 0,
    "top_a": 0,
    "frequency_penalty": 0,
    "presence_penalty": 0,
    "repetition_penalty": 1,
    "seed": -1,
    "reasoning_effort": "auto",
}
"""What these settings are where they do nothing, so that they need not be told."""
_SAMPLING = ("temperature", *_NEUTRAL)


@dataclass(frozen=True, slots=True)
class Told:
    """What could not be taken over as it was."""

    level: Level
    sentence: str


def not_carried(found: Mapping[str, Any]) -> Iterator[Told]:
    """Yield what of a preset of SillyTavern's is said elsewhere with us, or not at all."""
    sampling = [
        f"{key} {found[key]}"
        for key in _SAMPLING
        if found.get(key) not in (None, "", _NEUTRAL.get(key))
    ]
    limits = [
        f"{words} {found[key]}"
        for key, words in (("openai_max_context", "context"), ("openai_max_tokens", "reply"))
        if isinstance(found.get(key), int)
    ]
    if sampling or limits:
        sentence = f"Settings are no part of a preset here: {', '.join([*sampling, *limits])}."
        yield Told(Level.INFO, sentence)
    if found.get("names_behavior") in (1, 2):
        sentence = "Names are not put before or beside what is said (“names_behavior”)."
        yield Told(Level.WARNING, sentence)
    if found.get("squash_system_messages") is True:
        sentence = "System messages are not joined (“squash_system_messages”)."
        yield Told(Level.WARNING, sentence)
    if isinstance(lore := found.get("wi_format"), str) and lore.strip() not in ("", "{0}"):
        sentence = "Nothing is put around world info (“wi_format”)."
        yield Told(Level.WARNING, sentence)
    if isinstance(prefill := found.get("assistant_prefill"), str) and prefill.strip():
        sentence = "“assistant_prefill” is not taken over: write it as an assistant's message."
        yield Told(Level.WARNING, sentence)
    extensions = mapping(found.get("extensions")) or {}
    if listed(extensions.get("regex_scripts")):
        sentence = "Its regex scripts are not taken over."
        yield Told(Level.WARNING, sentence)
