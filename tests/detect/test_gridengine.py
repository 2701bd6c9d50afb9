"""Queues, hosts and environments of Grid Engine, as its commands show them."""

from __future__ import annotations

import pytest

from modak.detected import Asked, describe, gridengine
from modak.detected.seen import CommandOutput
from tests.detect.told import ACCELERATORS, DAY, PROCESSORS, XEON, answers, partition, seen


def test_grid_engine_has_queues_and_hosts() -> None:
    """Slots of a queue are what its jobs may use of a host; a host that is down and a queue that is disabled are none."""
    said = (
        "qname   main\npe_list  mpi \\\n        smp\nh_rt    48:30:05,[c1=1:0:0]\nprojects  chem ai\n"
        "qname   debug\npe_list  NONE\nh_rt    INFINITY\n"
    )
    cluster = gridengine.cluster(answers({"qhost": "qhost-gridengine.txt"}, qconf=said))
    assert cluster
    debug, main = cluster.partitions
    assert (main.name, main.usable_cpus, main.max_wall_time_s, main.conditions) == ("main", 48, 174605, ("pe_list mpi smp",))
    assert (debug.name, debug.usable_cpus, debug.max_wall_time_s, debug.conditions) == ("debug", 4, None, ())
    assert (main.lists, main.restricted) == ((("allowed_accounts", ("chem", "ai")),), True)
    assert (debug.lists, debug.restricted) == ((), False)
    assert [(node.name, node.partitions, node.cpus) for node in cluster.nodes] == [("c1", ("main", "debug"), 48), ("c2", ("main",), 48)]
    first = cluster.nodes[0]
    assert (first.sockets, first.cores, first.threads_per_core, first.memory_gb) == (2, 48, 2, 134.7)


def test_grid_engine_before_version_8_tells_no_sockets_and_cores() -> None:
    """Its hosts have their slots and their memory all the same; a limit of time may be in seconds alone."""
    said = "c1 lx24-amd64 16 0.02 62.9G 1.1G 4.0G 0.0\n   main BIP 0/0/16\n"
    found = gridengine.cluster(answers({}, qhost=said, qconf="qname main\nh_rt 3600\n"))
    assert found
    (node,), (main,) = found.nodes, found.partitions
    assert (node.name, node.cpus, node.sockets, node.cores, node.threads_per_core, node.memory_gb) == ("c1", 16, None, None, None, 67.5)
    assert (main.usable_cpus, main.max_wall_time_s) == (16, 3600)


@pytest.mark.parametrize(("shown", "lists"), [("qname main\nprojects NONE\n", True), ("", False)])
def test_grid_engine_shows_lists_where_it_shows_its_queues(shown: str, lists: bool) -> None:
    """Hosts alone do not say whose jobs a queue takes."""
    found = gridengine.cluster(answers({}, qhost="c1 lx24-amd64 16 0.02 62.9G 1.1G 4.0G 0.0\n   main BIP 0/0/16\n", qconf=shown))
    assert found
    assert found.shows_lists is lists


ENVIRONMENT = "pe_name {}\nslots {}\nuser_lists {}\nallocation_rule {}\ncontrol_slaves {}\n"


@pytest.mark.parametrize(
    ("told", "chosen"),
    [
        ({"shm": (9, "NONE", "$pe_slots", "FALSE"), "orte": (9, "NONE", "$fill_up", "TRUE")}, ("-pe shm", "-pe orte")),
        ({"orte": (9, "NONE", "$fill_up", "TRUE"), "whole": (9, "NONE", "48", "TRUE")}, ("-pe whole",)),
        ({"half": (9, "NONE", "24", "TRUE"), "turns": (9, "NONE", "$round_robin", "TRUE")}, ()),
        ({"shm": (9, "chem", "$pe_slots", "FALSE"), "off": (0, "NONE", "$pe_slots", "FALSE")}, ()),
        ({"loose": (9, "NONE", "$fill_up", "FALSE"), "elsewhere": (9, "NONE", "$fill_up", "TRUE")}, ()),
        ({"shm": (9, "NONE", "$pe_slots", "FALSE")}, ("-pe shm",)),
        ({"shm": (9, "NONE", "$pe_slots", "FALSE"), "elsewhere": (9, "NONE", "$fill_up", "TRUE")}, ("-pe shm",)),
        ({"shm": (9, "NONE", "$pe_slots", "FALSE"), "turns": (9, "NONE", "$round_robin", "TRUE")}, ()),
    ],
)
def test_environments_of_grid_engine_are_chosen_by_their_rules(told: dict[str, tuple[object, ...]], chosen: tuple[str, ...]) -> None:
    """One for one node, one for several; not where they are not for everybody, or not in all queues with such environments. That for one
    node gives the slots that a job asks for: jobs share nodes."""
    listed = " ".join(name for name in told if name != "elsewhere")
    queues = f"qname main\npe_list {listed}\nqname debug\npe_list NONE\n"
    shown = "\n".join(ENVIRONMENT.format(name, *values) for name, values in told.items())
    found = seen({"qhost": "qhost-gridengine.txt", **XEON}, "c1", qconf=queues, qconf_sp=shown)
    assert found.system.mandatory_directives == chosen
    assert any("pe_list" in note for note in found.notes) == (not chosen)
    assert partition(found, "main").whole_nodes is (False if "-pe shm" in chosen else None)


@pytest.mark.parametrize("rule", ["$pe_slots", "$fill_up"])
def test_an_environment_that_one_queue_lacks_is_not_entered(rule: str) -> None:
    """Jobs of that queue would be refused."""
    queues = "qname main\npe_list shm\nqname debug\npe_list smp\n"
    shown = "".join(ENVIRONMENT.format(name, 9, "NONE", rule, "TRUE") for name in ("shm", "smp"))
    found = seen({"qhost": "qhost-gridengine.txt", **XEON}, "c1", qconf=queues, qconf_sp=shown)
    assert found.system.mandatory_directives == ()


def test_a_queue_of_jobs_on_one_node_needs_no_environment_for_several() -> None:
    """That of the other queue is entered all the same."""
    queues = "qname main\npe_list shm orte\nqname debug\npe_list shm\n"
    shown = ENVIRONMENT.format("shm", 9, "NONE", "$pe_slots", "FALSE") + ENVIRONMENT.format("orte", 9, "NONE", "$fill_up", "TRUE")
    found = seen({"qhost": "qhost-gridengine.txt", **XEON}, "c1", qconf=queues, qconf_sp=shown)
    assert found.system.mandatory_directives == ("-pe shm", "-pe orte")
    assert (partition(found, "main").max_nodes, partition(found, "debug").max_nodes) == (None, 1)
    assert not any("pe_list" in note for note in found.notes)


@pytest.mark.parametrize(("rule", "most"), [("$pe_slots", 1), ("$fill_up", None), ("24", None)])
def test_a_queue_whose_environments_stay_on_one_host_has_jobs_of_one_node(rule: str, most: int | None) -> None:
    """Others would wait for ever."""
    queues = "qname main\npe_list shm other\nqname debug\npe_list NONE\n"
    shown = ENVIRONMENT.format("shm", 9, "NONE", "$pe_slots", "FALSE") + ENVIRONMENT.format("other", 9, "NONE", rule, "TRUE")
    found = seen({"qhost": "qhost-gridengine.txt", **XEON}, "c1", qconf=queues, qconf_sp=shown)
    assert (partition(found, "main").max_nodes, partition(found, "debug").max_nodes) == (most, None)


def test_hosts_with_fewer_slots_than_cores_have_reserved_ones() -> None:
    """As a site of Grid Engine means it: neither a limit of Slurm's nor memory that it does not know."""
    host = "c1 lx-amd64 80 2 40 80 0.01 125.5G 2.9G 4.0G 0.0\n   main BIP 0/0/24\n"
    found = seen(XEON, host="c1", qhost=host)
    assert partition(found, "main").node.reserved_cores == 16
    assert [note for note in found.notes if note.startswith("partition main")] == []


def test_the_pbs_commands_of_grid_engine_are_not_in_trouble() -> None:
    """Its qstat refuses the options of that of PBS."""
    given = answers({"qhost": "qhost-gridengine.txt", **XEON}) | {"qstat": CommandOutput("qstat -Qf", trouble="exit status 1")}
    assert not [note for note in describe(given, {}, Asked("c1", DAY), PROCESSORS, ACCELERATORS).notes if "exit status" in note]


def test_hosts_of_grid_engine_have_their_own_slots() -> None:
    """Most hosts of the queue give 16 slots, whatever one gives: a job of more would never start."""
    host = "{} lx-amd64 96 2 48 96 0.01 125.5G 2.9G 4.0G 0.0\n   main BIP 0/0/{}\n"
    found = seen(XEON, host="c1", qhost="".join(host.format(*one) for one in (("c1", 16), ("c2", 16), ("c3", 48))))
    assert partition(found, "main").node.usable_cores == 16


def test_hosts_without_slots_are_no_nodes() -> None:
    """Neither one that is in no queue nor one that is down, whose line in the list of hosts says nothing."""
    host, down = "{} lx-amd64 96 2 48 96 0.01 125.5G 2.9G 4.0G 0.0\n", "c3 - - - - - - - - - -\n   main BIP 0/0/16\n"
    found = gridengine.cluster(answers({}, qhost=f"{host.format('c1')}   main BIP 0/0/48\n{host.format('c2')}{down}"))
    assert found
    assert [(node.name, node.partitions, node.cpus) for node in found.nodes] == [("c1", ("main",), 48), ("c2", (), None)]


def test_hosts_of_grid_engine_with_other_memory_are_another_kind() -> None:
    """It shows no features that would select one of them."""
    host = "{} lx-amd64 96 2 48 96 0.01 {}G 2.9G 4.0G 0.0\n   main BIP 0/0/48\n"
    hosts = "".join(host.format(*one) for one in (("c1", 125.5), ("c2", 125.5), ("c3", 503.5)))
    assert partition(seen(XEON, host="c1", qhost=hosts), "main").nodes == 2


@pytest.mark.parametrize(("memory", "gigabytes"), [("512.0M", 0.5), ("2.0G", 2.1), ("1.5T", 1649.2)])
def test_grid_engine_writes_memory_in_powers_of_1024(memory: str, gigabytes: float) -> None:
    """Whatever the letter."""
    host = f"c1 lx-amd64 96 2 48 96 0.01 {memory} 2.9G 4.0G 0.0\n   main BIP 0/0/48\n"
    assert partition(seen(XEON, host="c1", qhost=host), "main").node.memory_gb == pytest.approx(gigabytes, abs=0.06)
