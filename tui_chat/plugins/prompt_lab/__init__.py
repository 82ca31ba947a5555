"""The prompt lab: variants of a prompt on cases, with the exact request behind every cell.

values          `Suite` of `Case`s with `ReplyCheck`s, `Variant`, `Plan` of `Cell`s with their
                `CellReply` and `Verdict`s, `Run`, `Group`
suites          `read_suite(path)`, `suite_file(folder, preset)`, `add_case(...)`
preset_cases    the cases of `presets test`, and what they expect of requests
check_files     checks of replies, and tests of promptfoo, as files write them
checks          the kinds of checks, and what they decide
plan            variants: `resolve(suite, ...)`; `plan(suite, variants)` composes a plan
costs           what a plan costs, and the money that a run may spend
grades          what a cell gets for its checks, the judge, and the results that are known
results         `LabStore`: runs in the database, its tables and their migrations
runner          `Runner(lab, run, ...).send("waiting")`
command         `tui-chat eval` (run_command: `eval run`)
report          its tables and files; better, worse, or not distinguishable: `compare(old, new)`
preset_tests    `tui-chat presets test`
preset_states   every saved state of a preset
case_list       the cases of a preset, edited beside saved (cases_view: in the inspector)
actions         the actions of the app
"""

from tui_chat.api import Action, Command, Part, Plugin, View

PLUGIN = Plugin(
    name="prompt_lab",
    summary="Compares variants of a prompt on cases, and checks the replies.",
    commands=(
        Command(
            "eval",
            "tui_chat.plugins.prompt_lab.command:eval_group",
            "Send variants of a prompt with the cases of a suite, and check the replies.",
            group="Requests",
        ),
        Command(
            "presets test",
            "tui_chat.plugins.prompt_lab.preset_tests:run_tests",
            "Run test cases of presets.",
        ),
    ),
    actions=(
        Action(
            "preset-states",
            "tui_chat.plugins.prompt_lab.actions:choose_state",
            "History",
            "Earlier states of this preset…",
            keys="h",
            aliases=("versions", "history of the preset", "restore preset", "saved versions"),
            writes=True,
            place="preset",
        ),
        Action(
            "try-cases",
            "tui_chat.plugins.prompt_lab.actions:show_cases",
            "Try",
            "Try the preset on its cases",
            keys="t",
            aliases=(
                *("test preset", "compare with saved", "prompt lab", "evaluate", "a/b test"),
                *("eval", "judge", "golden set", "promptfoo"),
            ),
            place="preset",
        ),
        Action(
            "case",
            "tui_chat.plugins.prompt_lab.actions:make_case",
            "Case",
            "Make a case of this turn…",
            keys="plus",
            aliases=("test case", "bad reply", "eval", "regression test"),
            argument="WHAT IS WRONG",
            writes=True,
            place="message",
        ),
        Action(
            "case-with-history",
            "tui_chat.plugins.prompt_lab.actions:make_whole_case",
            "Case",
            "Make this turn a case with the whole conversation…",
            aliases=("test case", "eval"),
            argument="WHAT IS WRONG",
            writes=True,
        ),
    ),
    views=(
        View(
            "cases",
            "Cases",
            "Cas",
            "tui_chat.plugins.prompt_lab.cases_view:CasesView",
            needs="opened",
            load="tui_chat.plugins.prompt_lab.case_list:load_cases",
            title="Cases: compare the edited preset with the saved one",
            aliases=("cases", "prompt lab", "test preset", "eval", "judge", "golden set"),
        ),
    ),
    parts=(
        Part("listener", "tui_chat.plugins.prompt_lab.preset_states:keep_saved", "PresetSaved"),
        Part(
            "listener", "tui_chat.plugins.prompt_lab.preset_states:follow_rename", "PresetRenamed"
        ),
    ),
    tables=(
        *("lab_version", "lab_values", "lab_runs", "lab_cells", "lab_preferences"),
        "lab_preset_states",
    ),
)
