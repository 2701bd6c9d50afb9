"""Models follow the results that are stored, on both databases."""

from __future__ import annotations

import subprocess
import sys
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, select, update

from modak import __version__
from modak.perfmodel import fit
from modak.perfmodel.fitting.curves import FIT_VERSION
from modak.store import Store, curves, open_store, schema
from modak.store.audit import Actor
from modak.store.engine import reading, writing
from tests.store.tables import HEADER, ME, ROWS, csv_table, results_of


def test_models_follow_the_data(store: Store) -> None:
    """Curves are fitted at the first use, come from the store after that, and follow a load into their series."""
    store.load([csv_table(ROWS)], ME)
    first = store.models("3dgan")
    assert store.models("3dgan") == first
    assert first[0].sizes == (4, 8, 16, 32)
    store.load([csv_table(HEADER + "3dgan,clic,supermuc-ng,64,4,12,epoch_time,60,s,,,,\n")], ME)
    assert store.models("3dgan")[0].sizes == (4, 8, 16, 32, 64)
    assert store.models() == store.models("3dgan")
    assert store.models("other") == ()


def test_a_model_is_found_by_its_name_alone(store: Store) -> None:
    """No others are read for it, of no application: of 25,000 that takes seconds. What is not fitted yet is."""
    store.load(
        [csv_table(ROWS + "".join(ROWS.replace(*other).removeprefix(HEADER) for other in (("3dgan", "other"), ("clic", "wide"))))], ME
    )
    one, *others = store.models()
    with writing(store.engine) as connection:
        connection.execute(update(schema.models).where(schema.models.c.name != one.name).values(body="not read"))
    assert (store.model(one.name), store.model("unknown")) == (one, None)
    assert len({one.name, *(other.name for other in others)}) == 3
    store.load([csv_table(ROWS.replace("3dgan", "more"))], ME)
    (new,) = fit(results_of(store, "more"))
    assert store.model(new.name) == new


@pytest.mark.parametrize("name", ["", "%", "\0", "\ud800", "A" * 12])
def test_what_is_no_name_of_a_model_is_not_looked_for(store: Store, name: str) -> None:
    """PostgreSQL takes no text with some of them."""
    assert store.model(name) is None


def test_curves_of_other_forms_are_fitted_again(tmp_path: Path) -> None:
    """Coefficients mean nothing to forms that they were not fitted with: a new form needs no other version number."""
    url = f"sqlite:///{tmp_path / 'modak.db'}"
    with open_store(url) as store:
        known = len(store.models("3dgan")[0].mixture.coefficients)
    code = """
import sys
from modak.perfmodel.fitting import forms
for module in [each for name, each in sys.modules.items() if name.startswith("modak.perfmodel.") and hasattr(each, "FORMS")]:
    module.FORMS = (*module.FORMS, forms.Line("another", recency=0.3))
from modak.store import open_store
with open_store(sys.argv[1]) as store:
    print({len(curve.mixture.coefficients) for curve in store.models("3dgan")})
"""
    done = subprocess.run([sys.executable, "-c", code, url], capture_output=True, text=True, check=True)
    assert done.stdout == f"{{{known + 1}}}\n"


def test_only_changed_series_are_fitted_again(store: Store) -> None:
    """A load into one series leaves what is stored of another application's, byte for byte."""
    store.load([csv_table(ROWS + ROWS.replace("3dgan", "other").removeprefix(HEADER))], ME)
    store.models()
    store.load([csv_table(HEADER + "3dgan,clic,supermuc-ng,64,4,12,epoch_time,60,s,,,,\n")], ME)
    with reading(store.engine) as connection:
        behind = curves.stale(connection)
    assert [key.application for key, _ in behind.values()] == ["3dgan"]


def test_what_a_newer_version_fitted_stays(store: Store) -> None:
    """Two versions on one database do not fit the same series in turns for ever; new results are fitted by whoever needs them first. What
    the same version fitted with other forms does not stay."""
    newer, other = (f"{__version__}/{version}/forms" for version in (FIT_VERSION + 1, FIT_VERSION))

    def fitted_by() -> str:
        with reading(store.engine) as connection:
            return str(connection.scalars(select(schema.series.c.fitted_by)).one())

    store.load([csv_table(ROWS)], ME)
    models = store.models()
    with writing(store.engine) as connection:
        connection.execute(update(schema.series).values(fitted_by=newer))
    assert (store.models(), fitted_by()) == (models, newer)
    with writing(store.engine) as connection:
        connection.execute(update(schema.series).values(fitted_by=other))
    assert (store.models(), fitted_by()) == (models, curves.FITTED_BY)
    with writing(store.engine) as connection:
        connection.execute(update(schema.series).values(fitted_by=newer))
    store.load([csv_table(HEADER + "3dgan,clic,supermuc-ng,64,4,12,epoch_time,60,s,,,,\n")], ME)
    assert (len(store.models()), fitted_by()) == (1, curves.FITTED_BY)


TWO_IMAGES = "application,params.n,system,nodes,image,metric,value\n" + "".join(
    f"a,{problem},sys,{nodes},{image},epoch_time,{90 / nodes + 5}\n"
    for problem in (1, 2, 3)
    for image in ("", "docker://x:1", "docker://x:2")
    for nodes in (1, 2, 4)
)


@pytest.mark.parametrize("limit", [1, 2, 1000])
def test_pages_of_models_are_all_models(store: Store, limit: int) -> None:
    """In the order in which they are read at once; also where several series are fitted together, and the first page fits them."""
    store.load([csv_table(TWO_IMAGES)], ME)
    pages = [store.models_page(None, limit)]
    while pages[-1].next:
        pages.append(store.models_page(pages[-1].next, limit))
    assert tuple(curve for page in pages for curve in page.items) == store.models()
    assert max(len(page.items) for page in pages) <= limit
    assert len(store.models()) > 3


def test_a_page_of_models_fits_no_others(store: Store) -> None:
    """A database with many series that were never fitted answers the first page soon."""
    store.load([csv_table(TWO_IMAGES)], ME)
    store.models_page(None, 1)
    with reading(store.engine) as connection:
        assert {key.params["n"] for key, _ in curves.stale(connection).values()} == {"2", "3"}


def test_a_page_of_models_does_not_follow_a_load(store: Store, url: str) -> None:
    """Where new series come in as fast as they are read, the page ends all the same."""
    store.load([csv_table(TWO_IMAGES)], ME)
    there = len(store.models())
    with open_store(url, fill=False) as other:
        numbers = count(10)

        @event.listens_for(store.engine, "begin")
        def _load(_connection: Any) -> None:
            other.load([csv_table(f"application,params.n,metric,value\na,{next(numbers)},epoch_time,9\n")], Actor("other"))

        assert len(store.models_page(None, 50).items) <= there + 1


def test_models_are_those_of_the_results(store: Store) -> None:
    """What the store fits from its rows is what a fit of the results themselves gives: layouts, repeats, flagged rows, rates."""
    rates = "".join(
        f"b,d,s,{n},{r},1,throughput,{100 * n**0.9 * r + k},samples/s,{k},,,\n" for n in (1, 4, 64) for r in (1, 2) for k in (1, 2)
    )
    store.load([csv_table(ROWS + rates + "b,d,s,2,1,1,throughput,1,samples/s,,,,contradicts itself\n")], ME)
    assert sorted(map(repr, store.models())) == sorted(map(repr, fit([*results_of(store, "3dgan"), *results_of(store, "b")])))
