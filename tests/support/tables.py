"""A table as one test: every row runs, and a failure lists each failing row with its values."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

import pytest

SHOWN = 500
"""How many characters of a row's values a failure shows."""
MAX_WHOLE = 5
"""How many failing rows are shown with their traceback; of the others the values are."""


class RowsFailed(ExceptionGroup[Exception]):
    """Some rows of a table failed."""


def each_row(
    names: str | Sequence[str], rows: Iterable[Any], *, ids: Any = None, absent: str = ""
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Run a test once for each of `rows`, as one test. `names` are the parameters that a row gives,
    as for `pytest.mark.parametrize`; a row can be a `pytest.param`, whose marks do not count.
    `ids` names the rows: a function of one value, or a name for each row. `absent` says why a table
    may have no rows, such as a corpus that is not here: the test is skipped then.

    Each row gets a `tmp_path` and a `monkeypatch` of its own, and what `of_row` returns of fixtures
    that have it. The test gets its other fixtures once: one that changes them belongs to a test of
    its own.
    """
    fields = [each.strip() for each in names.split(",")] if isinstance(names, str) else list(names)
    table = list(_named_rows(fields, list(rows), ids))
    assert table or absent, "a table without rows tests nothing"
    if not table:
        return pytest.mark.skip(reason=absent)

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(test):

            @wraps(test)
            async def run(*args: Any, **fixtures: Any) -> None:
                results = _Results(test.__name__)
                for number, (name, row) in enumerate(table):
                    with results.of(name), _fixtures_of_row(number, fixtures) as own:
                        await test(*args, **own, **row)
                results.report()

        else:

            @wraps(test)
            def run(*args: Any, **fixtures: Any) -> None:
                results = _Results(test.__name__)
                for number, (name, row) in enumerate(table):
                    with results.of(name), _fixtures_of_row(number, fixtures) as own:
                        test(*args, **own, **row)
                results.report()

        signature = inspect.signature(test)
        kept = [each for each in signature.parameters.values() if each.name not in fields]
        run.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        del run.__wrapped__  # pytest would look for the row's parameters there
        return run

    return decorate


@contextmanager
def _fixtures_of_row(number: int, fixtures: dict[str, Any]) -> Generator[dict[str, Any]]:
    own = dict(fixtures)
    if (folder := fixtures.get("tmp_path")) is not None:
        own["tmp_path"] = folder / f"row-{number}"
        own["tmp_path"].mkdir()
    for name, value in fixtures.items():
        if hasattr(value, "of_row"):
            own[name] = value.of_row(number)
    if "monkeypatch" not in fixtures:
        yield own
        return
    with pytest.MonkeyPatch.context() as own["monkeypatch"]:
        yield own


def _named_rows(
    fields: Sequence[str], rows: Sequence[Any], ids: Any
) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, row in enumerate(rows):
        given = getattr(row, "id", None) if isinstance(row, type(pytest.param())) else None
        if isinstance(row, type(pytest.param())):
            values = row.values
        else:
            values = (row,) if len(fields) == 1 else tuple(row)
        assert len(values) == len(fields), (fields, values)
        if given is None and callable(ids):
            given = "-".join(str(ids(value)) for value in values)
        elif given is None and ids is not None:
            given = str(ids[number])
        shown = ", ".join(f"{name}={value!r}" for name, value in zip(fields, values, strict=True))
        if len(shown) > SHOWN:
            shown = f"{shown[:SHOWN]}… ({len(shown):,} characters)"
        name = f"row {number}" if given is None else f"row {number} ({given})"
        yield f"{name}: {shown}", dict(zip(fields, values, strict=True))


class _Results:
    """What became of the rows of a test."""

    def __init__(self, test: str) -> None:
        self._test = test
        self._rows = 0
        self._skipped: list[str] = []
        self._failures: list[tuple[str, Exception]] = []

    @contextmanager
    def of(self, name: str) -> Generator[None]:
        """Keep the failure of a row, or that it was skipped."""
        self._rows += 1
        try:
            yield
        except pytest.skip.Exception as skipped:
            self._skipped.append(str(skipped))
        except Exception as error:
            error.add_note(name)
            self._failures.append((name, error))

    def report(self) -> None:
        """Raise RowsFailed if a row failed; skip the test if all rows were."""
        if self._failures:
            summary = "\n".join(
                f"  {name}: {type(error).__name__}: {str(error)[:SHOWN]}"
                for name, error in self._failures
            )
            raise RowsFailed(
                f"{len(self._failures)} of {self._rows} rows of {self._test} failed:\n{summary}\n",
                [error for _, error in self._failures[:MAX_WHOLE]],
            )
        if len(self._skipped) == self._rows:
            pytest.skip(self._skipped[0])
