"""Plans: variants of a prompt, and the exact requests of cases with them, in the order of sending.

    {"preset": "tutor.json", "off": ["reminder"], "set": {"style.insertionPoint": -4}}
    {"preset": "tutor.json", "ablation": true}

1. `ablation` adds a variant without each enabled message, to see which of them change anything.
2. A preset is a file or the name of one. A suite looks for files in its own folder, and from a
   folder `cases` also in the one that has it and in `presets` there: the layout of the
   configuration folder. A name that is nowhere there is one of the library.
3. A request is composed of a case, a variant, and nothing else: time and seeds are the case's. So
   repeats send the same bytes, and a repeat that differs is the model's doing.
4. The cases of a variant follow each other, so that a provider's prompt cache can serve what they
   have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from tui_chat.compose import Composed, compose
from tui_chat.config import Config
from tui_chat.context import SessionSettings
from tui_chat.context.builders import prepared
from tui_chat.errors import InputError
from tui_chat.library.library import Library
from tui_chat.library.presets import load_preset
from tui_chat.models.boundary import InvalidValue, camel_case, read_fields, snake_case
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.envelope import Level
from tui_chat.models.json_text import describe_value
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.plugins.prompt_lab.values import Case, Cell, Plan, Suite, Variant, VariantChoice
from tui_chat.tokens import Counter, counter_for

NO_MESSAGES = "none"
"""The bundled preset that has nothing but the conversation."""
_FIELDS = tuple(field.name for field in fields(PresetMessage) if field.name not in ("id", "extras"))


def changed_preset(
    preset: Preset, off: Iterable[str] = (), changes: Mapping[str, Any] | None = None
) -> Preset:
    """Return a preset with some messages disabled and fields of others changed: by `ID.FIELD`.
    Raises InputError for an id, a field or a value that is not accepted.
    """
    messages = {message.id: message for message in preset.messages}

    def named(identity: str) -> PresetMessage:
        if identity in messages:
            return messages[identity]
        known = ", ".join(messages)
        raise InputError(
            f"The preset “{preset.name}” has no message “{identity}”.", advice=f"It has {known}."
        )

    for identity in off:
        messages[identity] = replace(named(identity), enabled=False)
    for key, value in (changes or {}).items():
        identity, _, name = key.rpartition(".")
        message, name = named(identity), snake_case(name)
        if name not in _FIELDS:
            known = ", ".join(map(camel_case, _FIELDS))
            raise InputError(f"“{key}”: a message has no such field.", advice=f"It has {known}.")
        try:
            values = read_fields(PresetMessage, {name: value}) if value is not None else {}
        except InvalidValue as error:
            fault = error.faults[0]
            sentence = f"“{key}” {fault.sentence}, not {describe_value(fault.value)}."
            raise InputError(sentence) from None
        messages[identity] = replace(message, **(values or {name: None}))
    return replace(preset, messages=tuple(messages.values()))


def ablations(variant: Variant) -> Iterator[Variant]:
    """Yield the variant without each of its enabled messages, by itself."""
    for message in variant.preset.messages:
        if message.enabled and not message.is_anchor:
            name = f"{variant.name} without {message.name or message.id}"
            yield replace(variant, name=name, preset=changed_preset(variant.preset, [message.id]))


def resolve(
    suite: Suite,
    config: Config,
    library: Library,
    *,
    models: Sequence[str] = (),
    presets: Sequence[str] = (),
) -> tuple[Variant, ...]:
    """Return the variants of a suite; `models` and `presets` replace those that it names.
    Raises InputError for what does not exist.
    """
    choices = list(suite.variants) or [VariantChoice()]
    if presets:
        kept = list(dict.fromkeys(each.model for each in choices))
        choices = [VariantChoice(preset, model) for preset in presets for model in kept]
    if models:
        plain = [replace(each, model="") for each in choices]
        firsts = [each for number, each in enumerate(plain) if each not in plain[:number]]
        choices = [replace(each, model=model) for each in firsts for model in models]
    folders = (Path(),) if presets else preset_folders(Path(suite.source))
    several_models = len({choice.model for choice in choices}) > 1
    variants: list[Variant] = []
    with nullcontext() if models or presets else faults_in(suite.source):
        for choice in choices:
            endpoint, model = endpoint_and_model(choice.model, config)
            for preset, own in _presets(choice, suite, library, folders):
                name = choice.name or _name(
                    Path(choice.preset).name.removesuffix(".json") or preset.name,
                    *(choice, model if several_models else ""),
                )
                changed = changed_preset(preset, choice.off, choice.set)
                variant = Variant(name, changed, endpoint, model, choice.settings, own)
                variants += (variant, *(ablations(variant) if choice.ablation else ()))
    return with_own_names(variants)


@contextmanager
def faults_in(place: str) -> Generator[None]:
    """Name the place in the InputErrors of the block."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{place}: {error}", advice=error.advice) from error


def with_own_names(variants: Iterable[Variant]) -> tuple[Variant, ...]:
    """Return variants, numbered where a name is taken."""
    named: dict[str, Variant] = {}
    for variant in variants:
        name, number = variant.name, 1
        while name in named:
            number += 1
            name = f"{variant.name} ({number})"
        named[name] = replace(variant, name=name)
    return tuple(named.values())


def endpoint_and_model(words: str, config: Config) -> tuple[Endpoint, str]:
    """Return the endpoint and the model of `ENDPOINT/MODEL` or of a model, or of new sessions for
    an empty text. Raises InputError.
    """
    endpoint, model = config.endpoint_named(config.endpoint), config.model
    if words:
        endpoint, model = config.endpoint_and_model(words, endpoint)
    if "/" in words and model == words and model not in endpoint.models:
        endpoint, model = config.endpoint_named(words.partition("/")[0]), ""
    model = model or next(iter(endpoint.models), "")
    if not model:
        raise InputError(f"The endpoint “{endpoint.name}” lists no model: write it behind a slash.")
    return endpoint, model


def preset_folders(suite: Path) -> tuple[Path, ...]:
    """Return the folders in which a suite looks for the files of presets."""
    folder = suite.parent
    above = folder.absolute().parent
    return (folder, above, above / "presets") if folder.absolute().name == "cases" else (folder,)


def preset_named(suite: Path, name: str) -> str:
    """Return the path of a preset that a suite names, or the name if there is no such file."""
    files = [folder / file for folder in preset_folders(suite) for file in (name, f"{name}.json")]
    return str(next((file for file in files if file.is_file()), name))


def _presets(
    choice: VariantChoice,
    suite: Suite,
    library: Library,
    folders: Iterable[Path],
) -> Iterator[tuple[Preset, str | None]]:
    """Yield the presets of a choice, each with the cases that it is for: see `Variant.own`."""
    name, names = choice.preset, library.names("presets")
    if not name:
        yield from ((preset, key) for key, preset in suite.presets.items())
        if any(not case.preset for case in suite.cases):
            yield library.preset(NO_MESSAGES), "" if suite.presets else None
    elif name in names:
        yield library.preset(name), None
    elif Path(name).is_file():
        yield load_preset(Path(name)), None
    else:
        raise InputError(
            f"There is no preset “{name}”.",
            advice=f"It is no file in {', '.join(str(each.absolute()) for each in folders)}, "
            f"and none of your and the bundled presets: {', '.join(names)}.",
        )


def _name(preset: str, choice: VariantChoice, model: str) -> str:
    parts = [preset or "preset"]
    if choice.off:
        parts.append(f"without {', '.join(choice.off)}")
    parts += [f"{key} = {value}" for key, value in choice.set.items()]
    return " · ".join([*parts, *([model] if model else [])])


MOST_CELLS = 100_000


def request_of(
    case: Case, variant: Variant, counter: Callable[[str], Counter] = counter_for
) -> Composed:
    """Return the request of a case with a variant."""
    inputs = replace(
        case.inputs,
        endpoint=variant.endpoint,
        preset=variant.preset,
        settings=SessionSettings.of(variant.model, variant.settings),
    )
    return compose(prepared(inputs) if inputs.lorebooks else inputs, counter)


def applies(case: Case, variant: Variant) -> bool:
    """Return True if a case is for a variant."""
    is_for_preset = variant.own is None or variant.own == case.preset
    return is_for_preset and case.protocol in (None, variant.endpoint.protocol)


def plan(
    suite: Suite,
    variants: Sequence[Variant],
    *,
    repeat: int | None = None,
    pairs: Iterable[tuple[Case, Variant]] | None = None,
    counter: Callable[[str], Counter] = counter_for,
) -> Plan:
    """Return the plan of a suite's cases with variants, each sent `repeat` times. `pairs` are those
    that are planned; None for all.
    """
    if pairs is None:
        pairs = ((case, variant) for variant in variants for case in suite.cases)
    planned = [_planned(*pair, counter) for pair in pairs if applies(*pair)]
    attempts = range(1, (repeat or suite.repeat) + 1)
    cells = ((cell, attempt) for cell in planned for attempt in attempts)
    return Plan(
        suite,
        tuple(variants),
        tuple(
            replace(cell, position=position, attempt=attempt)
            for position, (cell, attempt) in enumerate(cells)
        ),
    )


def _planned(case: Case, variant: Variant, counter: Callable[[str], Counter]) -> Cell:
    composed = request_of(case, variant, counter)
    return Cell(
        position=0,
        case=case.key,
        variant=variant.name,
        attempt=1,
        body_sha=composed.payload.sha256,
        input_tokens=input_tokens(composed) or sum(composed.envelope.tokens),
        output_limit=output_limit(composed),
        target=variant.target,
        notes=tuple(
            (note.level.value, note.sentence)
            for note in composed.notes
            if note.level is not Level.INFO
        ),
    )


def input_tokens(composed: Composed) -> int:
    """Return the tokens of a request's input; 0 if they were not counted."""
    budget = composed.envelope.budget
    return budget.total if budget is not None else 0


def output_limit(composed: Composed) -> int | None:
    """Return the most tokens of output that a request allows, by its limit or that of the model;
    None if neither is known.
    """
    limit = composed.envelope.parameters.values.max_tokens
    if limit is not None:
        return limit
    return composed.endpoint.max_tokens or composed.endpoint.facts_of(composed.model).max_output
