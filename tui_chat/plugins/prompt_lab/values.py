"""The values of the prompt lab: suites, their plans, and what came of them.

A suite has cases; variants are what is tried on them. A plan has a cell for each repeat of a case
with a variant. A run is a plan that was sent. Cases and variants are whole values: a run needs
neither the suite's file nor the preset's to show or send a request again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from decimal import Decimal
from hashlib import sha256
from types import MappingProxyType
from typing import Annotated, Any, Literal

from tui_chat.context import Inputs
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import CallBlock
from tui_chat.models.boundary import Range
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.preset import Preset
from tui_chat.models.settings import NO_SETTINGS, Settings
from tui_chat.models.usage import NO_USAGE, Usage

CellStatus = Literal["waiting", "streaming", "passed", "failed", "error", "interrupted"]
ENDED: tuple[CellStatus, ...] = ("passed", "failed", "error")
"""What is never sent again by itself."""
RunStatus = Literal["running", "complete", "interrupted", "over_budget"]

EDITED, SAVED, BEFORE = "edited", "saved", "saved before"
"""Names of variants in the app: the role of a preset, which another one has in the next run."""
NO_PRESET = Preset("")
NO_ENDPOINT = Endpoint("case", Protocol.OPENAI_CHAT, "https://case.invalid/v1")
"""Stand in the inputs of a case for what its variants bring."""
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ReplyCheck:
    """What is expected of a reply."""

    type: str
    """A name of `checks.CHECKS`, without `not-`."""
    value: Any = None
    """What it compares with, as in the file."""
    negated: bool = False
    threshold: float | None = None
    weight: Annotated[float, Range(0)] = 1.0
    """Its share of the score."""
    judge: str = ""
    """`ENDPOINT/MODEL` of a check that asks a model; empty for the suite's judge."""

    @property
    def label(self) -> str:
        """Its type as files write it."""
        return f"not-{self.type}" if self.negated else self.type


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of one check of a reply."""

    type: str
    """The check's label."""
    passed: bool
    reason: str
    """A sentence for people."""
    score: float = 0.0
    """From 0 to 1."""
    weight: float = 1.0
    cost: Decimal | None = None
    """US dollars that its judge cost; None for none or unknown."""
    failed: bool = False
    """True if it could not be decided, such as without a judge."""


@dataclass(frozen=True, slots=True)
class Case:
    """A conversation, and what is expected of the reply to it."""

    key: str
    """Its identity from run to run: its name, or a hash of its inputs."""
    name: str
    inputs: Inputs
    """Its `endpoint` and `preset` are `NO_ENDPOINT` and `NO_PRESET`."""
    checks: tuple[ReplyCheck, ...] = ()
    expected: Mapping[str, Any] | None = None
    """`expected` and `checks` of the request, as `presets test` reads them; None without any."""
    threshold: float | None = None
    """The score that is enough; None if every check must pass."""
    pass_rate: float = 1.0
    """The share of its repeats that must pass."""
    protocol: Protocol | None = None
    """The only protocol whose variants it is for; None for all."""
    preset: str = ""
    """The preset that it brings, a key of `Suite.presets`; empty for none."""

    @property
    def has_checks(self) -> bool:
        """True if its request or its reply is checked."""
        return bool(self.checks or self.expected)


@dataclass(frozen=True, slots=True)
class Variant:
    """What is tried on the cases: a whole preset, a model, settings."""

    name: str
    """Its name in the plan, such as `edited` or `tutor · gpt-5-mini`."""
    preset: Preset
    endpoint: Endpoint
    """Stored without secrets; it is sent to the configured endpoint of this name."""
    model: str = ""
    settings: Settings = NO_SETTINGS
    """Settings that go before those of the preset."""
    own: str | None = None
    """The preset of the cases that it is for, a key of `Suite.presets`; None for all cases."""

    @property
    def model_name(self) -> str:
        """The model that is asked."""
        return self.model or next(iter(self.endpoint.models), "")

    @property
    def target(self) -> str:
        """`ENDPOINT/MODEL` that is asked."""
        return f"{self.endpoint.name}/{self.model_name}"


@dataclass(frozen=True, slots=True)
class Suite:
    """Cases, and the variants that its file names."""

    name: str
    source: str = ""
    """The path of its file; empty if it has none. Runs of the same source are its history."""
    cases: tuple[Case, ...] = ()
    variants: tuple[VariantChoice, ...] = ()
    judge: str = ""
    """`ENDPOINT/MODEL` that `llm-rubric` asks."""
    repeat: int = 1
    note: str = ""
    """A sentence that is printed when it is run."""
    presets: Mapping[str, Preset] = field(default_factory=lambda: _NOTHING)
    """The presets that cases bring, by a hash."""


@dataclass(frozen=True, slots=True)
class VariantChoice:
    """A variant as a file or a flag names it."""

    preset: str = ""
    """The path of a file or a name of the library; empty for the preset of each case."""
    model: str = ""
    """`ENDPOINT/MODEL`; empty for the model of new sessions."""
    name: str = ""
    """Empty for one that follows from the others."""
    off: tuple[str, ...] = ()
    """Ids of messages that are disabled."""
    set: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    """Other values of fields of messages: `{"reminder.insertionPoint": -4}`."""
    settings: Settings = NO_SETTINGS
    ablation: bool = False
    """True for a further variant without each enabled message."""


@dataclass(frozen=True, slots=True)
class CellReply:
    """A reply as it was received, and what it took."""

    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    calls: tuple[CallBlock, ...] = ()
    """Tool calls; none is run."""
    finish: str = ""
    """The provider's name for the reason of its end."""
    reason: str = ""
    """The same as `FinishReason`; empty if it did not end."""
    model: str = ""
    """The model that answered, as the reply names it."""
    usage: Usage = NO_USAGE
    cost: Decimal | None = None
    """US dollars; None if unknown."""
    priced: str = ""
    """Whose prices these are."""
    first: float | None = None
    """Seconds until the first text."""
    seconds: float = 0.0
    """Seconds until its end, without waits between attempts."""
    error: str = ""
    """The error that ended it; empty for none."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One request of a plan and, once it has ended, what came of it."""

    position: int
    """Its place in the plan, from 0: the order in which cells are sent."""
    case: str
    """The key of its case."""
    variant: str
    """The name of its variant."""
    attempt: int
    """From 1: its repeat."""
    body_sha: str
    """The SHA-256 of the exact body."""
    input_tokens: int
    output_limit: int | None = None
    """The most tokens of output that it allows; None for no limit."""
    notes: tuple[tuple[str, str], ...] = ()
    """Level and sentence of each warning and error about the request."""
    status: CellStatus = "waiting"
    reply: CellReply | None = None
    verdicts: tuple[Verdict, ...] = ()
    score: float | None = None
    """The weighted mean of the scores; None before its end."""
    target: str = ""
    """The `target` of its variant."""

    @property
    def request(self) -> str:
        """The identity of its request: who is asked, which the body need not say, and the body."""
        return f"{self.target} {self.body_sha}"

    @property
    def cost(self) -> float | None:
        """US dollars that it cost with its judges, as far as known; None if nothing is."""
        costs = [verdict.cost for verdict in self.verdicts]
        costs += [self.reply.cost] if self.reply is not None else []
        exact = [float(cost) for cost in costs if cost is not None]
        return sum(exact) if exact else None

    @property
    def is_ended(self) -> bool:
        """True if it has a result."""
        return self.status in ENDED

    @property
    def is_unchecked(self) -> bool:
        """True if it passed because nothing was checked."""
        return self.status == "passed" and not self.verdicts


@dataclass(frozen=True, slots=True)
class Plan:
    """The requests of a run, in the order in which they are sent."""

    suite: Suite
    variants: tuple[Variant, ...]
    cells: tuple[Cell, ...]

    @property
    def sha256(self) -> str:
        """The identity of what is sent, in whatever order: cases, variants and requests."""
        sent = sorted((cell.case, cell.variant, cell.attempt, cell.request) for cell in self.cells)
        return sha256(repr(sent).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Run:
    """A plan that was stored, and how far it has come."""

    seq: int
    """Its number, from 1."""
    run_id: str
    suite: str
    """The suite's name."""
    source: str
    """The suite's file."""
    started: float
    """Seconds since the epoch, UTC."""
    finished: float | None = None
    status: RunStatus = "running"
    accepted: bool = False
    """True for the baseline that later runs are compared with."""
    plan_sha: str = ""
    judge: str = ""
    accepted_variant: str = ""
    """The variant that was accepted with it, for what else is compared with it by its preset;
    empty for all by their names.
    """
    counts: Mapping[str, int] = field(default_factory=lambda: _NOTHING)
    """The number of cells by status."""
    cost: float = 0.0
    """US dollars of the cells whose cost is known, judges included."""
    unchecked: int = 0
    """The number of cells that passed because nothing was checked."""

    @property
    def total(self) -> int:
        """The number of cells."""
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class Group:
    """The repeats of a case with a variant, counted."""

    case: str
    name: str
    """The case's name."""
    variant: str
    passed: int
    failed: int
    errors: int
    open: int
    """Those that have not ended."""
    pass_rate: float
    """The share of the repeats that must pass."""
    score: float | None
    cost: float
    unchecked: int = 0
    """Those that passed because nothing was checked."""

    @property
    def total(self) -> int:
        """The number of repeats."""
        return self.passed + self.failed + self.errors + self.open

    @property
    def status(self) -> CellStatus:
        """The result of all repeats together."""
        if self.open:
            return "waiting"
        if self.passed >= self.pass_rate * self.total:
            return "passed"
        could_pass = self.passed + self.errors >= self.pass_rate * self.total
        return "error" if could_pass else "failed"

    @property
    def is_unchecked(self) -> bool:
        """True if it passed because nothing was checked."""
        return self.status == "passed" and 0 < self.unchecked == self.passed
