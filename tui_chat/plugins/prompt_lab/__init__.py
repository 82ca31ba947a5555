"""The prompt lab: variants of a prompt on cases, with the exact request behind every cell.

values          `Suite` of `Case`s with `ReplyCheck`s, `Variant`, `Plan` of `Cell`s with their
                `CellReply` and `Verdict`s, `Run`, `Group`, `Preference`
suites          `read_suite(path)`, `suite_file(folder, preset)`, `add_case(...)`; a suite's file
                (promptfoo: tables and lines of tests)
variants        `resolve(suite, ...)`, `changed_preset(...)`, `ablations(variant)`
checks          the kinds of checks, and what they decide (check_files: as files write them;
                judge: a model that is asked; grading: what a cell gets for its checks)
planning        `plan(suite, variants)` composes a plan; `request_of(case, variant)` one request
budget          what a plan costs, and the money that a run may spend
results         `LabStore`: runs in the database (tables: the tables and their migrations)
runner          `Runner(lab, run, ...).send("waiting")` (endpoint_limits: how many at once)
comparison      better, worse, or not distinguishable: `compare(old, new)`
command         `tui-chat eval` (report: its tables and files)
"""

from tui_chat.extensions import CommandPath, Plugin

PLUGIN = Plugin(
    name="prompt_lab",
    summary="Compares variants of a prompt on cases, and checks the replies.",
    commands=(
        CommandPath(
            "eval",
            "tui_chat.plugins.prompt_lab.command:eval_group",
            "Send variants of a prompt with the cases of a suite, and check the replies.",
        ),
    ),
    tables=("lab_version", "lab_values", "lab_runs", "lab_cells", "lab_preferences"),
)
