"""Lists of host names."""

from __future__ import annotations

from modak.text.hosts import expand_nodes


def test_node_lists_are_written_out() -> None:
    """With the zeros that the names have."""
    assert expand_nodes("n[08-11,3],m") == ("n08", "n09", "n10", "n11", "n3", "m")


def test_a_node_that_is_named_twice_is_one() -> None:
    """The job would else ask for more nodes than it names."""
    assert expand_nodes("n1,n[1-2],n1") == ("n1", "n2")
