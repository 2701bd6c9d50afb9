"""What a newer MODAK brings along, beside what a database holds: pure comparison."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from modak.errors import NotFound
from modak.facts import Image, Processor, System
from modak.knowledge import packaged_root, read_all
from modak.packaged import PRINCIPAL, Difference, Held, differences, only_named

SINCE = datetime(2026, 1, 1, tzinfo=UTC)
SHIPPED = read_all(packaged_root())


def processor(name: str, model: str = "as it was") -> Processor:
    """A processor of some model."""
    return SHIPPED.processors[0].model_copy(update={"name": name, "model": model})


def system(name: str, *aliases: str) -> System:
    """Some system under another name."""
    return SHIPPED.systems[0].model_copy(update={"name": name, "aliases": aliases})


def held(*values: Processor | System | Image, by: str = PRINCIPAL) -> list[Held]:
    """What the database has, all from one principal."""
    return [Held(value, by, SINCE) for value in values]


def told(found: tuple[Difference, ...]) -> list[tuple[str, str, bool, bool]]:
    """Name, standing, whether it is taken in, and whether with ``replace``."""
    return [(one.name, one.standing, one.taken(replace=False), one.taken(replace=True)) for one in found]


def test_each_side_may_have_changed() -> None:
    """The package's new and newer entries come; what was changed here stays unless replacing is said; the site's own is no difference."""
    package = [processor("new"), processor("same"), processor("newer", "corrected"), processor("ours", "corrected")]
    database = held(*map(processor, ("same", "newer", "gone"))) + held(processor("ours", "measured here"), processor("own"), by="local:ada")
    assert told(differences(package, database)) == [
        ("new", "new", True, True),
        ("newer", "newer", True, True),
        ("ours", "changed here", False, True),
        ("gone", "no longer packaged", False, False),
    ]


def test_what_a_site_added_by_itself_and_the_package_says_too_is_no_difference() -> None:
    """Equal is equal, whoever added it."""
    assert differences([processor("p")], held(processor("p"), by="local:ada")) == ()


@pytest.mark.parametrize("name", ["fast", "Fast_One"])
def test_a_name_that_a_site_uses_for_another_system_keeps_its_meaning(name: str) -> None:
    """A packaged system called as a site's system, or as an alias of it, is left out, and is never taken for that one."""
    (one,) = differences([system(name.lower().replace("_", "-"))], held(system("mine", "fast", "fast-one"), by="local:ada"))
    assert told((one,)) == [(one.name, "name taken", False, False)]
    assert one.held is not None
    assert one.held.value == system("mine", "fast", "fast-one")


def test_an_alias_that_is_another_systems_name_is_a_name_taken() -> None:
    """Also where the packaged system itself is there already."""
    found = differences([system("theirs", "mine")], held(system("theirs")) + held(system("mine"), by="local:ada"))
    assert told(found) == [("theirs", "name taken", False, False)]


def test_an_image_goes_by_its_reference() -> None:
    """It has no other name."""
    image = SHIPPED.images[0]
    assert told(differences([image], [])) == [(image.reference, "new", True, True)]


def test_some_are_chosen_by_name() -> None:
    """A name in which nothing differs is refused, with those in which something does."""
    found = differences([processor("a"), processor("b")], [])
    assert [one.name for one in only_named(found, ["b"])] == ["b"]
    assert only_named(found, []) == found
    with pytest.raises(NotFound, match=r"NAME: no entry 'c' differs from what this MODAK knows; what differs: a, b$"):
        only_named(found, ["c"])
    with pytest.raises(NotFound, match=r"what differs: nothing$"):
        only_named((), ["c"])
