"""The content of other programs' messages: texts, files, calls, counts, in JSON of many shapes."""

from __future__ import annotations

from collections.abc import Iterable

from tui_chat.models.blocks import Extras, MediaBlock, ReasoningBlock
from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_text import (
    JsonObject,
    as_array,
    as_object,
    as_string,
    decode_lenient,
    to_json,
)
from tui_chat.models.media import (
    detect_mime_of_base64,
    is_link,
    kind_of,
    known_mime,
    standard_base64,
)

FILE_BESIDE = "An image or file beside the export was not imported; a placeholder takes its place."
"""The note of a part whose bytes may be in another file of the export."""
MISSING_FILE = "An image or file is not in the export; a placeholder takes its place."
"""The note of a part whose bytes are elsewhere."""
_LONGEST_ID = 500
_LONGEST_NAME = 200


def unknown_content(block: JsonObject) -> str:
    """Return the note of a block of content whose type is not known."""
    kind = as_string(block.get("type"))[:40]
    return f"Content of the unknown type “{kind}” was left out."


def parsed(text: str) -> object:
    """Return the value of a JSON text; None if it is not JSON."""
    try:
        return decode_lenient(text)
    except ValueError:
        return None


# Texts


def joined(texts: Iterable[str]) -> str:
    """Return texts with an empty line between them, without the empty ones."""
    return "\n\n".join(filter(None, texts))


def texts_of(blocks: object) -> list[str]:
    """Return the texts of a list of blocks, empty for a block without one."""
    return [as_string(as_object(block).get("text")) for block in as_array(blocks)]


def result_text(value: object) -> str:
    """Return a tool's output as text: text as it is, anything else as JSON; none is empty."""
    if value is None:
        return ""
    return as_string(value) if isinstance(value, str) else to_json(value)


def call_arguments(value: object) -> str:
    """Return the arguments of a call: text as it is, anything else as JSON."""
    return as_string(value) if isinstance(value, str) else to_json(value if value else {})


def cut_elements(text: str, *names: str) -> tuple[str, list[str]]:
    """Return a text without its elements of these names (`<name>…</name>`), and their contents."""
    contents: list[str] = []
    for name in names:
        opening, closing = f"<{name}>", f"</{name}>"
        kept: list[str] = []
        offset = 0
        while (start := text.find(opening, offset)) >= 0:
            end = text.find(closing, start)
            if end < 0:
                break
            kept.append(text[offset:start])
            contents.append(text[start + len(opening) : end].strip())
            offset = end + len(closing)
            while offset < len(text) and text[offset].isspace():
                offset += 1
        text = "".join((*kept, text[offset:])) if kept else text
    return text, contents


def anthropic_reasoning(block: JsonObject) -> ReasoningBlock:
    """Return the reasoning of a block `thinking` or `redacted_thinking`."""
    text, signature = as_string(block.get("thinking")), as_string(block.get("signature"))
    if encrypted := as_string(block.get("data")):
        return reasoning(Protocol.ANTHROPIC, text, "redacted_thinking", data=encrypted)
    return reasoning(Protocol.ANTHROPIC, text, signature=signature)


def reasoning(protocol: Protocol, text: str, form: str = "", **keys: str) -> ReasoningBlock:
    """Return reasoning as a protocol would have sent it. `keys`: an empty one is left out."""
    present = {key: value for key, value in keys.items() if value}
    return ReasoningBlock(text, Extras(protocol, form, present))


# Files


def part_of_base64(data: object, mime: object, name: str = "") -> MediaBlock:
    """Return a picture, sound or file given as base64; damaged if it is not base64."""
    content = standard_base64(as_string(data))
    kind = known_mime(as_string(mime)) or (detect_mime_of_base64(content) if content else "")
    return MediaBlock(kind_of(kind), kind, data=content, name=name)


def part_of_url(
    url: str, notes: list[str], *, name: str = "", mime: str = "image/png"
) -> MediaBlock:
    """Return a picture or file given by a data URL, an address, or the name of a file that is not
    at hand, which adds a note. `mime` is the type if the URL says none.
    """
    head, comma, data = url.partition(";base64,")
    if comma and head.startswith("data:"):
        return part_of_base64(data, head.removeprefix("data:"), name)
    if is_link(url):
        return MediaBlock(kind_of(mime), url=url, name=name)
    notes.append(MISSING_FILE)
    short = url[:_LONGEST_ID]
    return MediaBlock(kind_of(mime), file_id=short, name=name or file_name(short))


def missing_part(notes: list[str], file_id: str, name: str = "", mime: str = "") -> MediaBlock:
    """Return a missing picture or file, with a note. Its name defaults to that of `file_id`."""
    notes.append(MISSING_FILE)
    name = name or file_name(file_id)
    return MediaBlock(
        kind_of(mime), mime, file_id=file_id[:_LONGEST_ID] or "file", name=name[:_LONGEST_NAME]
    )


def file_name(path: str) -> str:
    """Return the last part of a path of any system."""
    return path.replace("\\", "/").rpartition("/")[2]


def pictures_of(blocks: object, notes: list[str]) -> list[MediaBlock]:
    """Return the pictures of blocks whose `image_url` is an address, or an object with one."""
    urls = [as_object(block).get("image_url") for block in as_array(blocks)]
    addresses = [as_string(url) or as_string(as_object(url).get("url")) for url in urls]
    return [part_of_url(address, notes) for address in addresses if address]


# Counts


def total(count: int | None, *others: int | None) -> int | None:
    """Return a count with others that the program lists apart; None if the first is not known."""
    return None if count is None else count + sum(other or 0 for other in others)
