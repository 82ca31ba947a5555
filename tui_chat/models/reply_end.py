"""How a reply ended: the providers' words for it, and the sentence for people."""

from __future__ import annotations

from collections.abc import Mapping

from tui_chat.models.reply import FinishReason
from tui_chat.models.sanitize import one_line
from tui_chat.models.session import Entry

_WORDS: Mapping[FinishReason, tuple[str, ...]] = {
    "stop": (
        *("", "stop", "eos", "eos_token", "end_turn", "stop_sequence", "stop_token", "end"),
        *("complete", "completed", "done", "finish", "finished", "normal"),
    ),
    "tool_calls": ("tool_calls", "tool_use", "tool_call", "tooluse", "toolcalls", "function_call"),
    "length": (
        *("length", "max_tokens", "max_output_tokens", "model_length", "max_length"),
        *("model_context_window_exceeded", "context_length_exceeded"),
    ),
    "content_filter": (
        *("content_filter", "content_filtered", "sensitive", "safety", "blocked", "blocklist"),
        *("recitation", "language", "prohibited_content", "spii", "model_armor", "jailbreak"),
        *("image_safety", "image_prohibited_content", "image_recitation", "other_safety"),
    ),
    "refusal": ("refusal",),
    "paused": ("pause_turn", "continuation"),
}
_REASONS: dict[str, FinishReason] = {
    word: reason for reason, words in _WORDS.items() for word in words
}
_DETAIL = 1_000
"""Characters of a provider's explanation that are shown."""


def finish_reason(word: str) -> FinishReason:
    """Return what a provider's word for the end of a reply means."""
    word = word.strip().lower().replace("-", "_").replace(" ", "_")
    return _REASONS.get(word.removeprefix("finish_reason_"), "other")


def is_empty(entry: Entry) -> bool:
    """Return True if a reply has no text, refusal, call or file."""
    message = entry.message
    has_words = message.content.strip() or message.refusal
    return not (has_words or message.tool_calls or message.parts)


def reply_reason(entry: Entry) -> FinishReason:
    """Return why a complete reply ended. Some providers always say `stop`; the content decides."""
    reason = finish_reason(entry.finish)
    if reason == "stop" and entry.message.tool_calls:
        return "tool_calls"
    if reason == "stop" and entry.message.refusal and not entry.message.content.strip():
        return "refusal"
    return reason


def ended_early(entry: Entry) -> bool:
    """Return True if a complete reply is empty, or ended for another reason than that it was at its
    end, called tools or reached its token limit.
    """
    if entry.status != "complete" or entry.message.role != "assistant":
        return False
    return is_empty(entry) or reply_reason(entry) not in ("stop", "tool_calls", "length")


def end_sentence(entry: Entry) -> str:
    """Return how a complete reply ended, in the same words in the app and on the command line;
    empty if it ended normally and has content.
    """
    if entry.status != "complete" or entry.message.role != "assistant":
        return ""
    word, detail = one_line(entry.finish, 60), one_line(entry.error, _DETAIL)
    match reply_reason(entry):
        case "stop" | "tool_calls":
            return "The reply is empty." if is_empty(entry) else ""
        case "length":
            sentence = "Cut short: the reply reached its token limit"
        case "content_filter":
            sentence = f"Ended by the provider's filter ({word})"
        case "refusal":
            sentence = "The model declined"
            detail = detail or one_line(entry.message.refusal, _DETAIL)
        case "paused":
            sentence = f"Paused by the provider ({word}); continue the reply for the rest"
        case "other":
            sentence = f"Ended with “{word}”"
    if detail:
        return f"{sentence}: {detail}"
    return f"{sentence}. The reply is empty." if is_empty(entry) else f"{sentence}."
