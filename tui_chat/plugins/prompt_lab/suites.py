"""Suites: the files of cases, and the suite that each preset has by default.

    {"presets": ["tutor.json", "tutor-v2.json"], "models": ["openai/gpt-5-mini", "loopback/echo"],
     "judge": "anthropic/claude-haiku-4-5",
     "defaultTest": {"assert": [{"type": "latency", "threshold": 20000}]},
     "tests": [{"description": "asks back", "vars": {"draft": "What is 2+2?"},
                "assert": [{"type": "regex", "value": "\\?\\s*$"}]},
               "cases/history.json", "more.csv"]}

1. A suite is a file with `tests`. A case of `presets test`, a list of tests and a table are suites,
   too, which name no variants.
2. A test has the keys of a case of `presets test`, or `description` and `vars` as promptfoo has
   them. In `vars` the parts of a case are its own; all else is a variable of the session. `inputs`
   is the whole of them, as the app writes a case that it made of a turn.
3. `defaultTest` is added to each test: its checks come first, what the test has itself counts. A
   draft of it may have `{{name}}`, filled from the test.
4. A fault names file and place. Unknown keys are faults: a test must not pass because it was
   misread.
5. The suite of a preset is `cases/NAME.eval.json` in the configuration folder.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

from tui_chat import paths
from tui_chat.context import Inputs
from tui_chat.errors import InputError, located
from tui_chat.files import MAX_BYTES, make_private_folder, read_text, write_text
from tui_chat.interop.own_json import inputs_with_blocks
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.file_reader import JsonFile, KnownKeys
from tui_chat.library.json_locations import Path as JsonPath
from tui_chat.library.json_locations import format_path
from tui_chat.library.library import file_name
from tui_chat.models.boundary import InvalidValue, Range, pack, plain, read_own
from tui_chat.models.envelope import Level
from tui_chat.models.json_text import as_array, describe_value, object_or_none
from tui_chat.models.preset import Preset
from tui_chat.models.sanitize import one_line
from tui_chat.plugins.prompt_lab.check_files import (
    Test,
    known_fields,
    objects_in,
    read_checks,
    tests_of_lines,
    tests_of_table,
)
from tui_chat.plugins.prompt_lab.checks import plain_text
from tui_chat.plugins.prompt_lab.plan import faults_in, preset_named
from tui_chat.plugins.prompt_lab.preset_cases import find_cases, read_case, refuse_invalid_keys
from tui_chat.plugins.prompt_lab.values import (
    NO_ENDPOINT,
    NO_PRESET,
    Case,
    ReplyCheck,
    Suite,
    VariantChoice,
)
from tui_chat.turn_file import is_turn

ENDING = ".eval.json"
MOST_CASES = 20_000
_OWN_VARS = ("draft", "history", "role", "profile", "lorebooks")
"""Variables of a test that are parts of the case."""
_PEOPLES = ("description", "metadata", "vars", "inputs")
"""Keys of a test besides those of a case."""
_ELSEWHERE = {
    "prompts": "write the presets as “presets”",
    "providers": "write the models as “models”, each ENDPOINT/MODEL",
}
"""Keys of promptfoo's configuration, and what to write instead."""


def sample_suite(name: str) -> Path:
    """Return the path of a suite that comes with the program, which need not exist."""
    return paths.bundled("sample_presets") / "suites" / f"{name}{ENDING}"


def suite_file(config_dir: Path, preset: str) -> Path:
    """Return the path of the suite of a preset, which need not exist."""
    return config_dir / "cases" / f"{file_name(preset)}{ENDING}"


# --- suites --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _SuiteFile:
    tests: Any = None
    name: str = ""
    presets: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    note: str = ""
    judge: str = ""
    repeat: Annotated[int, Range(1, 1000)] = 1
    default_test: Any = None
    variants: Any = None


_SUITE_KEYS = KnownKeys(each.name for each in fields(_SuiteFile))
_DEFAULT_KEYS = KnownKeys(("vars", "assert", "threshold", "pass_rate", "metadata"))
_VARIANT_KEYS = KnownKeys(each.name for each in fields(VariantChoice))


def read_suite(path: Path) -> Suite:
    """Read a suite, a case, a list of tests, a table, or a folder of cases. Raises InputError
    naming file, place and fault.
    """
    reader = _SuiteReader(path)
    if path.is_dir() or path.suffix.lower() in (".csv", ".jsonl"):
        reader.add_file(path)
        return reader.suite()
    file = _parsed(path)
    value = object_or_none(file.value)
    if value is None or not {"tests", *_ELSEWHERE} & value.keys():
        reader.add_file(path)
        return reader.suite()
    for key, advice in _ELSEWHERE.items():
        if key in value:
            raise InputError(f"{path}: $.{key} is promptfoo's; {advice}.")
    taken = known_fields(file, value, (), _SUITE_KEYS)
    content = file.read(_SuiteFile, taken)
    variants = tuple(_variants(file, taken.get("variants"), path))
    file.raise_errors(str(path))
    assert content is not None  # no error, so there is one
    reader.defaults = _defaults(file, path, content.default_test)
    reader.add_list(file, path, content.tests, file.path_of((), "tests"))
    refuse_invalid_keys(file, str(path))
    presets = [preset_named(path, name) for name in content.presets]
    suite = reader.suite()
    return replace(
        suite,
        name=content.name or suite.name,
        variants=tuple(
            replace(each, preset=each.preset or preset, model=each.model or model)
            for each in variants or (VariantChoice(),)
            for preset in ([""] if each.preset else presets or [""])
            for model in ([""] if each.model else content.models or [""])
        ),
        judge=content.judge,
        repeat=content.repeat,
        note=content.note,
    )


def _variants(file: JsonFile, values: object, path: Path) -> Iterator[VariantChoice]:
    """Yield the variants of a list; faults become findings."""
    where = file.path_of((), "variants")
    for place, table in objects_in(file, values, where, "variant"):
        taken = known_fields(file, table, place, _VARIANT_KEYS)
        given = taken.pop("settings", None)
        settings, unknown = file.read_settings(given, file.path_of(place, "settings"))
        for name in unknown:
            file.report(Level.ERROR, "bad-value", "is no setting", (*place, "settings", name))
        choice = file.read(VariantChoice, taken, place)
        if choice is not None:
            preset = preset_named(path, choice.preset) if choice.preset else ""
            yield replace(choice, preset=preset, settings=settings)


def _parsed(path: Path) -> JsonFile:
    if path.suffix.lower() in (".yaml", ".yml"):
        raise InputError(f"{path} is YAML.", advice="Suites are JSON, and tables CSV or JSONL.")
    file = JsonFile(read_text(path, max_bytes=MAX_BYTES))
    file.raise_errors(str(path))
    return file


# --- tests ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Defaults:
    """What is added to each test."""

    vars: Mapping[str, Any] = field(default_factory=dict[str, Any])
    checks: tuple[ReplyCheck, ...] = ()
    reply: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """`threshold` and `passRate`."""


def _defaults(file: JsonFile, path: Path, value: object) -> _Defaults:
    """Return what is added to each test. Raises InputError."""
    table = object_or_none(value)
    where = file.path_of((), "default_test")
    if value is not None and table is None:
        file.report(Level.ERROR, "bad-value", "must be an object", where)
    taken = known_fields(file, table or {}, where, _DEFAULT_KEYS)
    variables = object_or_none(taken.pop("vars", {}))
    if variables is None:
        file.report(Level.ERROR, "bad-value", "must be an object", (*where, "vars"))
    checks = tuple(read_checks(file, taken.pop("assert", None), (*where, "assert")))
    taken.pop("metadata", None)
    file.raise_errors(str(path))
    return _Defaults(variables or {}, checks, taken)


@dataclass(frozen=True, slots=True)
class _ReplyKeys:
    threshold: Annotated[float | None, Range(0, 1)] = None
    pass_rate: Annotated[float, Range(0, 1)] = 1.0


class _SuiteReader:
    """Collects the cases of a suite, with the presets that they bring."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.defaults = _Defaults()
        self._cases: dict[str, Case] = {}
        self._named: Counter[str] = Counter()
        """How many further cases have the name of one before."""
        self._presets: dict[str, Preset] = {}
        self._open: tuple[Path, ...] = ()
        """The files that are being read, each named by the one before."""

    def suite(self) -> Suite:
        """Return the suite of what was read. Raises InputError if that is no case."""
        if not self._cases:
            raise InputError(f"{self._path}: no cases found.")
        name = self._path.name.removesuffix(ENDING).removesuffix(self._path.suffix)
        source = str(self._path.resolve())
        return Suite(name, source, tuple(self._cases.values()), presets=self._presets)

    def add_file(self, path: Path) -> None:
        """Add the cases of a file or a folder. Raises InputError."""
        if path.resolve() in self._open:
            raise InputError(f"{path} names itself as a file of tests.")
        if len(self._open) > 8:
            raise InputError(f"{path}: the files of tests name each other too deeply.")
        self._open += (path.resolve(),)
        if path.is_dir():
            for case in find_cases(path):
                self.add_file(case)
        elif (suffix := path.suffix.lower()) in (".csv", ".jsonl"):
            tests_of = tests_of_table if suffix == ".csv" else tests_of_lines
            for test in tests_of(read_text(path, max_bytes=MAX_BYTES), str(path)):
                self._add(path, test)
                refuse_invalid_keys(test.file, test.source)
        else:
            self._add_json(path)
        self._open = self._open[:-1]

    def _add_json(self, path: Path) -> None:
        file = _parsed(path)
        value = object_or_none(file.value)
        if is_turn(file.value):
            raise InputError(
                f"{path} is an exported turn.",
                advice="`tui-chat presets test` compares its request; a case has “draft”.",
            )
        if value is not None and "tests" in value:
            raise InputError(f"{path} is a suite of its own; a suite has no suite in it.")
        if value is not None:
            self._add(path, Test(file, str(path), value), name=path.stem)
        else:
            self.add_list(file, path, file.value, ())
        refuse_invalid_keys(file, str(path))

    def add_list(self, file: JsonFile, path: Path, values: object, place: JsonPath) -> None:
        """Add the tests of a list, some of which name files. Raises InputError."""
        listed = as_array(values)
        places = [(*place, index) for index in range(len(listed))]
        if isinstance(values, str):
            listed, places = [values], [place]
        elif values != listed:
            raise InputError(f"{path}: {format_path(place)} must be a list of tests.")
        for value, where in zip(listed, places, strict=True):
            table = object_or_none(value)
            if table is not None:
                self._add(path, Test(file, str(path), table, where))
            elif isinstance(value, str):
                with faults_in(f"{path}: {format_path(where)}"):
                    self.add_file(path.parent / value.removeprefix("file://"))
            else:
                sentence = f"must be a test or a file, not {describe_value(value)}"
                raise InputError(f"{path}: {format_path(where)} {sentence}")

    def _add(self, path: Path, test: Test, name: str = "") -> None:
        case, preset = _read_test(path, test, self.defaults, name)
        if case.preset:
            self._presets.setdefault(case.preset, preset)
        key = case.key
        while key in self._cases:
            self._named[case.key] += 1
            key = f"{case.key} ({self._named[case.key] + 1})"
        self._cases[key] = replace(case, key=key)
        if len(self._cases) > MOST_CASES:
            raise InputError(f"{self._path} has more than {MOST_CASES:,} cases.")


def _read_test(path: Path, test: Test, defaults: _Defaults, name: str) -> tuple[Case, Preset]:
    """Return the case of a test, and the preset that it brings. Raises InputError."""
    file, place = test.file, test.place
    value = {key: part for key, part in test.value.items() if key not in _PEOPLES}
    moved: dict[str, tuple[str, ...]] = {}
    variables = object_or_none(test.value.get("vars", {}))
    if variables is None:
        file.report(Level.ERROR, "bad-value", "must be an object", (*place, "vars"))
    variables = {**defaults.vars, **(variables or {})}
    draft = variables.get("draft")
    if isinstance(draft, str) and draft is defaults.vars.get("draft"):

        def filled(match: re.Match[str]) -> str:
            return plain_text(variables[match[1]]) if match[1] in variables else match[0]

        variables["draft"] = re.sub(r"{{\s*([\w.-]+)\s*}}", filled, draft)
    session: dict[str, str] = {}
    for key, part in variables.items():
        if key in _OWN_VARS:
            is_file = isinstance(part, str) and key != "draft"
            value[key] = part.removeprefix("file://") if is_file else part
            moved[key] = ("vars", key)
        elif object_or_none(part) is not None or as_array(part) == part:
            sentence = f"must be text, not {describe_value(part)}"
            file.report(Level.ERROR, "bad-value", sentence, (*place, "vars", key))
        else:
            session[key] = plain_text(part)
    if session:
        value["variables"] = {**session, **(object_or_none(value.get("variables")) or {})}
        moved["variables"] = ("vars",)
    inputs = _whole_inputs(test)
    if inputs is not None and (both := value.keys() & {*_OWN_VARS, "at", "seed", "variables"}):
        sentence = f"cannot stand beside “inputs”, which has the same: {', '.join(sorted(both))}"
        file.report(Level.ERROR, "bad-value", sentence, place)
    case = read_case(file, test.source, path, value, place, moved)
    checks = tuple(read_checks(file, case.reply.get("assert"), file.path_of(place, "assert")))
    reply = {key: part for key, part in case.reply.items() if key != "assert"}
    numbers = file.read(_ReplyKeys, {**defaults.reply, **reply}, place)
    file.raise_errors(test.source)
    assert numbers is not None  # no error, so there is one
    description = test.value.get("description")
    title = description if isinstance(description, str) and description else case.name or name
    of_request = {key: value[key] for key in ("expected", "checks") if key in value}
    preset = case.inputs.preset
    inputs = inputs or replace(case.inputs, endpoint=NO_ENDPOINT, preset=NO_PRESET)
    key = title or sha256(pack(inputs).encode()).hexdigest()[:12]
    last = inputs.history[-1].content if inputs.history else ""
    return (
        Case(
            key,
            title or one_line(inputs.draft or last, 60) or "no text",
            inputs,
            (*defaults.checks, *checks),
            None if case.expected is None and not case.checks else of_request,
            numbers.threshold,
            numbers.pass_rate,
            case.inputs.endpoint.protocol if value.get("protocol") else None,
            sha256(pack(preset).encode()).hexdigest()[:12] if value.get("preset") else "",
        ),
        preset,
    )


# --- cases of the app ----------------------------------------------------------------------


def _whole_inputs(test: Test) -> Inputs | None:
    """Return the inputs that a test has whole; None if it has none. Raises InputError."""
    value = test.value.get("inputs")
    if value is None:
        return None
    table = object_or_none(value) or {}
    whole = {**table, "endpoint": plain(NO_ENDPOINT), "preset": plain(NO_PRESET)}
    try:
        return read_own(Inputs, inputs_with_blocks(whole))
    except InvalidValue as error:
        fault = error.faults[0]
        place = format_path((*test.place, "inputs", *fault.path))
        raise InputError(f"{test.source}: {located(place, fault.sentence)}") from None


def case_json(case: Case) -> dict[str, Any]:
    """Return a case as a test of a file, which reads as the same case. The list of its checks is
    before the conversation, to be filled in.
    """
    inputs = plain(case.inputs)
    test: dict[str, Any] = {"description": case.name}
    test["assert"] = [_check_json(check) for check in case.checks]
    test["inputs"] = {
        key: part for key, part in inputs.items() if key not in ("endpoint", "preset")
    }
    test |= case.expected or {}
    if case.threshold is not None:
        test["threshold"] = case.threshold
    if case.pass_rate != 1:
        test["passRate"] = case.pass_rate
    return test


def _check_json(check: ReplyCheck) -> dict[str, Any]:
    values = {"value": check.value, "threshold": check.threshold, "provider": check.judge or None}
    given = {key: value for key, value in values.items() if value is not None}
    weight = {} if check.weight == 1 else {"weight": check.weight}
    return {"type": check.label, **given, **weight}


def add_case(path: Path, preset: str, case: Case) -> None:
    """Add a case to the suite of a preset, whose file is made if it is missing. Raises InputError
    if the file cannot be read or written.
    """
    suite: dict[str, Any] = {"presets": [preset], "tests": []}
    if path.exists():
        file = _parsed(path)
        suite = object_or_none(file.value) or {}
        if not isinstance(suite.get("tests"), list):
            raise InputError(f"{path}: $.tests is no list, so that no case can be added.")
    suite["tests"].append(case_json(case))
    make_private_folder(path.parent)
    write_text(json.dumps(suite, indent=2, ensure_ascii=False) + "\n", path)
