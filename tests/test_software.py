"""Which image a request gets on the facts that there are: results that name images, drivers, MPI programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from modak.facts import Facts, Image, ImageLabels, Layout, Result, SeriesKey
from modak.normalise import normalise
from modak.optimise import optimise
from modak.perfmodel.curves import fit

Known = Callable[[str | None], Facts]
TARGET = {"name": "hlrs-testbed"}


def entry(reference: str, **labels: Any) -> Image:
    """An entry of a catalogue."""
    return Image(reference=reference, labels=ImageLabels.model_validate({"source": "hub", **labels}), source="a test")


def chosen(job: dict[str, Any], facts: Facts) -> str | None:
    """The image that the plan names."""
    return optimise(normalise({"job": {"target": TARGET, **job}}).request, facts).plan.configuration.image


def timed(image: str, seconds: float) -> Result:
    """A run of one application in an image on the testbed."""
    key = SeriesKey(application="mnist", framework="jax", system="hlrs-testbed", image=image, metric="epoch_time", unit="s")
    return Result(series=key, layout=Layout(nodes=1, ranks_per_node=1, threads_per_rank=20), value=seconds)


def test_of_equal_images_the_one_that_ran_faster(known: Known) -> None:
    """Two images with the same labels, and results in both: the models decide, not the name."""
    twins = [entry(f"docker://a/{name}:1", framework="jax", version="0.10.2", compilers=("xla",)) for name in ("first", "second")]
    models = fit([timed(twins[0].reference, 40.0), timed(twins[1].reference, 20.0)])
    facts = replace(known(None), images=tuple(twins), models=models)
    job = {"application": {"app_tag": "mnist"}, "optimisation": {"app_type": "ai_training", "ai_training": {"jax": {"version": "0.10.2"}}}}
    assert chosen(job, facts) == twins[1].reference


def test_an_mpi_program_runs_in_an_image_of_its_library(known: Known) -> None:
    """Where the catalogue has one that carries all that is asked; else it runs as the system provides it."""
    job = {
        "application": {"app_tag": "solver", "app_type": "mpi", "executable": "./solver", "mpi_ranks": 4},
        "optimisation": {"app_type": "hpc", "app_type-hpc": {"parallelisation-mpi": {"library": "mpich", "version": "4.1"}}},
    }
    image = entry("site/mpich.sif", framework="mpich", version="4.1", mpi="mpich", mpi_version="4.1")
    facts = known(None)
    assert chosen(job, facts) is None
    assert chosen(job, replace(facts, images=(*facts.images, image))) == image.reference
    other = image.model_copy(update={"labels": image.labels.model_copy(update={"version": "3.1.4"})})
    assert chosen(job, replace(facts, images=(*facts.images, other))) is None
