"""The practice models by their names, what lorem writes, and samples of schemas."""

import json
from pathlib import Path

from tests.support.tables import each_row
from tui_chat.offline import models as core
from tui_chat.plugins.practice.endpoints import MODELS
from tui_chat.plugins.practice.json_answers import sample_of
from tui_chat.plugins.practice.models import find_model


def test_every_model_of_the_catalog_exists():
    assert all(find_model(name, 1) is not None for name in MODELS)
    assert core.MODELS.items() <= MODELS.items()


@each_row("name", ["", "Mirror", "lorem:", "lorem:-1", "lorem:١", "lorem:max:max",
                                  "flaky-cut:2", "mirror:0", "echo:max:1"])  # fmt: skip
def test_invalid_names_have_no_model(name):
    assert find_model(name, 1) is None


NODE = {"type": "object", "properties": {"l": {"$ref": "#"}, "r": {"$ref": "#"}},
        "required": ["l", "r"]}  # fmt: skip

SAMPLES = json.loads(Path(__file__).with_name("schema_samples.json").read_text())


@each_row("case", SAMPLES, ids=lambda case: json.dumps(case)[:40])
def test_samples_fit_their_schema(case):
    assert sample_of(case["schema"]) == case["value"]


@each_row("schema", [NODE, {"$ref": "#"}, {"allOf": [{"$ref": "#"}]}])
def test_a_schema_without_end_has_a_sample_of(schema):
    assert len(json.dumps(sample_of(schema))) < 200_000
