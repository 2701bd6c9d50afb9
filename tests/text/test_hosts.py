"""Lists of host names."""

from __future__ import annotations

from modak.text.hosts import count_nodes, expand_nodes


def test_node_lists_are_written_out() -> None:
    """With the zeros that the names have."""
    assert expand_nodes("n[08-11,3],m") == ("n08", "n09", "n10", "n11", "n3", "m")


def test_a_node_that_is_named_twice_is_one() -> None:
    """The job would else ask for more nodes than it names."""
    assert expand_nodes("n1,n[1-2],n1") == ("n1", "n2")


def test_names_may_have_several_numbers() -> None:
    """As those of blades do: each with each."""
    assert expand_nodes("x10b[0-1]n[0-1],m[1-2]") == ("x10b0n0", "x10b0n1", "x10b1n0", "x10b1n1", "m1", "m2")


def test_nodes_are_counted_without_making_their_names() -> None:
    """A list of a billion is refused at once."""
    assert count_nodes("n[1-999999999],x[1-1000]b[1-1000]") == 999_999_999 + 1_000_000
