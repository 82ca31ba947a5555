"""The prompt lab: variants of a prompt on cases, with the exact request behind every cell.

values          `Suite` of `Case`s with `ReplyCheck`s, `Variant`, `Plan` of `Cell`s with their
                `CellReply` and `Verdict`s, `Run`, `Group`, `Preference`
suites          `read_suite(path)`, `suite_file(folder, preset)`, `add_case(...)`; a suite's file
                (promptfoo: tables and lines of tests)
variants        `resolve(suite, ...)`, `changed_preset(...)`, `ablations(variant)`
checks          the kinds of checks, and what they decide (check_files: as files write them;
                judge: a model that is asked; verdicts: what a cell gets for its checks)
plan            `plan(suite, variants)` composes a plan; `request_of(case, variant)` one request
estimates       what a plan costs (budget: the money that a run may spend)
results         `LabStore`: runs in the database (tables: the tables and their migrations)
runner          `Runner(lab, run, ...).send("waiting")` (endpoint_limits: how many at once)
comparison      better, worse, or not distinguishable: `compare(old, new)`
command         `tui-chat eval` (report: its tables and files; junit: results for CI services;
                run_command: `eval run` plans, and sends)
preset_tests    `tui-chat presets test` (preset_cases: their files; request_checks: what they
                expect of parts of a request)
preset_states   every saved state of a preset (states_actions: listed, compared, restored)
turn_cases      turns of conversations as cases
case_list       the cases of a preset, edited beside saved (case_results: what is known of their
                cells; cases_view: in the inspector; cases_actions: the actions that lead there)
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
            "tui_chat.plugins.prompt_lab.states_actions:choose_state",
            "History",
            "Earlier states of this preset…",
            keys="h",
            aliases=("versions", "history of the preset", "restore preset", "saved versions"),
            writes=True,
            place="preset",
        ),
        Action(
            "try-cases",
            "tui_chat.plugins.prompt_lab.cases_actions:show_cases",
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
            "tui_chat.plugins.prompt_lab.cases_actions:make_case",
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
            "tui_chat.plugins.prompt_lab.cases_actions:make_whole_case",
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
