"""Frameworks, libraries and their options, as requests write them."""

from __future__ import annotations

from typing import Any

import pytest

from modak.normalise import normalise
from tests.normalise.documents import faulty, job


@pytest.mark.parametrize("options", [{"inductor": True, "torch_compile": False}, {"torch-compile": False, "inductor": True}])
def test_of_two_names_of_an_option_its_own_is_used(options: dict[str, bool]) -> None:
    """The other one is named, whatever their order."""
    found = normalise(job("optimisation", training={"pytorch": options}))
    assert found.request.optimisation.options.value_of("inductor") is True
    assert [warning.message for warning in found.warnings if "torch" in warning.field.rpartition(".")[2]] == [
        "ignored: 'inductor' is given, too"
    ]


@pytest.mark.parametrize(
    ("options", "distribution", "note"),
    [
        ({"horovod": True}, "horovod", "is read as the option 'distribution': 'horovod'"),
        ({"horovod": True, "distribution": None}, "horovod", "is read as the option 'distribution': 'horovod'"),
        ({"horovod": True, "distribution": "ddp"}, "ddp", "ignored: 'distribution' is given, too"),
        ({"Distribution": "ddp", "horovod": True}, "ddp", "ignored: 'Distribution' is given, too"),
        ({"horovod": False, "distribution": "horovod"}, "horovod", "ignored: 'distribution' is given, too"),
        ({"horovod": False, "distribution": "ddp"}, "ddp", None),
        ({"horovod": True, "distribution": "Horovod"}, "horovod", None),
        ({"horovod": False}, None, "ignored: no distribution is requested"),
    ],
)
def test_the_switch_of_a_distribution_layer_gives_way_to_the_option(
    options: dict[str, Any], distribution: str | None, note: str | None
) -> None:
    """And the warning says which of them holds, unless both say the same; an option that is null is left out."""
    found = normalise(job("optimisation", training={"pytorch": options}))
    assert found.request.optimisation.options.value_of("distribution") == distribution
    assert [warning.message for warning in found.warnings if warning.field.endswith(".horovod")] == [note] * bool(note)


def test_horovod_beside_a_framework_distributes_it() -> None:
    """A key of its own for Horovod means the same as the framework's option."""
    found = normalise(job("optimisation", app_type="ai_training", ai_training={"horovod": {}, "tensorflow": {"version": "2.1"}}))
    assert found.request.optimisation.framework == "tensorflow"
    assert getattr(found.request.optimisation.options, "distribution", None) == "horovod"


@pytest.mark.parametrize("distribution", ["mlsl", None])
def test_mpi_beside_a_framework_names_its_library_alone(distribution: str | None) -> None:
    """Though Caffe may be distributed by MPI, too, its option says by what it is."""
    training = {"intel-caffe": {"distribution": distribution}, "mpi": {"library": "mpich"}}
    found = normalise(job("optimisation", app_type="ai_training", ai_training=training))
    assert found.request.optimisation.options.value_of("distribution") == distribution
    assert found.request.optimisation.further["mpi"].value_of("library") == "mpich"
    assert found.warnings == ()


def test_a_framework_that_is_null_is_not_asked_for() -> None:
    """Generated clients write every field that they know."""
    found = normalise(job("optimisation", ai_training={"tensorflow": None, "pytorch": {"glow": True}, "horovod": None}))
    assert found.request.optimisation.framework == "pytorch"
    assert getattr(found.request.optimisation.options, "distribution", None) is None


@pytest.mark.parametrize(("switch", "meant"), [(True, "horovod"), ("false", None)])
def test_horovod_as_a_switch_of_a_framework_distributes_it(switch: object, meant: str | None) -> None:
    """The layer as a key of its own is the option ``distribution``, with a notice."""
    found = normalise(job("optimisation", app_type="ai_training", ai_training={"tensorflow": {"horovod": switch}}))
    assert getattr(found.request.optimisation.options, "distribution", "no such option") == meant
    assert [warning.field for warning in found.warnings] == ["optimisation.ai_training.tensorflow.horovod"]


def test_opencc_is_openacc_as_a_word_and_as_a_section() -> None:
    """The published service has it beside OpenCL, with PGI's and Cray's compilers."""
    section = {"config": {"parallelisation": "opencc"}, "parallelisation-opencc": {"compiler": "pgi"}}
    found = normalise(job("optimisation", app_type="hpc", hpc=section)).request.optimisation
    assert (found.framework, found.options.value_of("compiler"), found.further) == ("openacc", "pgi", {})


@pytest.mark.parametrize("name", ["IntelCaffe", "Intel Caffe", "intel-caffe"])
def test_intels_caffe_may_be_one_word(name: str) -> None:
    """As PRACE's guide to deep learning writes it."""
    section = {"config": {"ai_framework": name}, name: {"version": "1.1.6"}}
    found = normalise(job("optimisation", app_type="ai_training", ai_training=section))
    assert (found.request.optimisation.framework, found.request.optimisation.options.version) == ("intel-caffe", "1.1.6")
    assert found.warnings == ()


def test_an_unknown_framework_is_named_and_left_out() -> None:
    """A framework that no plug-in has gives a warning with the known ones, and a request all the same."""
    found = normalise(job("optimisation", app_type="ai_training", ai_training={"config": {"ai_framework": "tensorfow"}, "tensorfow": {}}))
    assert found.request.optimisation.framework is None
    assert any("did you mean 'tensorflow'" in warning.message for warning in found.warnings)


@pytest.mark.parametrize(
    ("framework", "field"), [("tensorflow", "version"), ("mpi", "version"), ("horovod", "version"), ("horovod", "framework_version")]
)
def test_the_v_of_a_tag_is_no_part_of_a_version(framework: str, field: str) -> None:
    """As in results; with a warning, in every field that holds a version."""
    found = normalise(job("optimisation", app_type="ai_training", ai_training={framework: {field: "v2.1"}}))
    assert getattr(found.request.optimisation.options, field) == "2.1"
    assert [warning.message for warning in found.warnings] == ["'v2.1' is read as '2.1'"]


def test_options_of_a_framework_are_checked() -> None:
    """A value that an option cannot have is a fault at the place where it was written."""
    document = job("optimisation", app_type="hpc", hpc={"mpi": {"scaling_efficiency": 7}})
    assert set(faulty(document)) == {"optimisation.hpc.mpi.scaling_efficiency"}


def test_blank_text_hides_no_value_under_another_name_of_an_option() -> None:
    """Also under the option's own name."""
    found = normalise(job("optimisation", training={"pytorch": {"inductor": "", "torch_compile": True}}))
    assert found.request.optimisation.options.value_of("inductor") is True


def test_a_library_that_is_not_known_is_left_out() -> None:
    """An unknown word in a framework's options is a warning, not an error."""
    found = normalise(job("optimisation", app_type="hpc", hpc={"mpi": {"library": "foompi"}}))
    assert getattr(found.request.optimisation.options, "library", "?") is None
    assert [warning.field for warning in found.warnings] == ["optimisation.hpc.mpi.library"]


def test_a_number_where_an_option_is_text_is_its_digits() -> None:
    """With a warning, as for ``version``."""
    found = normalise(job("optimisation", app_type="ai_training", ai_training={"horovod": {"framework_version": 2.1}}))
    assert getattr(found.request.optimisation.options, "framework_version", None) == "2.1"
    assert [warning.field for warning in found.warnings] == ["optimisation.ai_training.horovod.framework_version"]


@pytest.mark.parametrize(("written", "meant"), [("DDP", "ddp"), (" Fsdp ", "fsdp"), ("ddp", "ddp")])
def test_words_of_a_framework_may_have_capitals(written: str, meant: str) -> None:
    """As words elsewhere: the distribution of a training is not lost over its spelling, and a change is said."""
    job = {"optimisation": {"app_type": "ai_training", "ai_training": {"pytorch": {"distribution": written}}}}
    found = normalise({"job": job})
    assert getattr(found.request.optimisation.options, "distribution", None) == meant
    assert len(found.warnings) == (written != meant)


def test_a_switch_of_a_framework_is_told_as_json_writes_it() -> None:
    """The reader has a JSON document, in which ``True`` would be an error."""
    found = normalise({"job": {"optimisation": {"app_type": "ai_training", "ai_training": {"tensorflow": {"xla": "True"}}}}})
    assert [warning.message for warning in found.warnings] == ["'True' is read as true"]


def mxnet(arguments: str, **options: Any) -> dict[str, Any]:
    """A training with MXNet."""
    wanted = {"app_type": "ai_training", "ai_training": {"mxnet": options}}
    return {"job": {"application": {"executable": "python3 train.py", "arguments": arguments}, "optimisation": wanted}}


@pytest.mark.parametrize("arguments", ["--gpus 0,1 --kv-store dist_device_sync --lr 1.6", "--kvstore=dist_sync"])
def test_a_command_with_a_distributed_key_value_store_has_servers(arguments: str) -> None:
    """MXNet's parameter server is what the command starts, whatever the options leave open; a warning says so."""
    found = normalise(mxnet(arguments))
    assert found.request.optimisation.options.value_of("distribution") == "parameter-server"
    assert [warning.field for warning in found.warnings] == ["application.arguments"]


@pytest.mark.parametrize(
    ("document", "stays"),
    [
        (mxnet("--kv-store dist_sync", distribution="horovod"), "horovod"),
        (mxnet("--kv-store device"), None),
        (mxnet("x--kv-store dist_sync"), None),
    ],
)
def test_another_key_value_store_changes_nothing(document: dict[str, Any], stays: str | None) -> None:
    """What the options say holds, and a store within a node needs no server."""
    found = normalise(document)
    assert found.request.optimisation.options.value_of("distribution") == stays
    assert not found.warnings
