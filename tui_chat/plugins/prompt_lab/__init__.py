"""The prompt lab: variants of a prompt on cases, with the exact request behind every cell.

values          `Suite` of `Case`s with `ReplyCheck`s, `Variant`, `Plan` of `Cell`s with their
                `CellReply` and `Verdict`s, `Run`, `Preference`
planning        `plan(suite, variants)` composes a plan; `request_of(case, variant)` one request
results         `LabStore`: runs in the database (tables: the tables and their migrations)
"""

from tui_chat.extensions import Plugin

PLUGIN = Plugin(
    name="prompt_lab",
    summary="Compares variants of a prompt on cases, and checks the replies.",
    tables=("lab_version", "lab_values", "lab_runs", "lab_cells", "lab_preferences"),
)
