"""What all scripts share."""

from __future__ import annotations

from typing import Any

import pytest

from modak.errors import RequestError
from modak.script.parts import valid
from modak.text.grammar import ModuleName, SettableName


@pytest.mark.parametrize(
    ("grammar", "value", "told"), [(ModuleName, "gcc;x", "allowed: "), (SettableName, "BASH_ENV", "BASH_ENV changes ")]
)
def test_what_a_rule_may_not_say_is_told_in_the_words_of_all_documents(grammar: Any, value: str, told: str) -> None:
    """What is allowed, or why not; and not how the library of models says it."""
    with pytest.raises(RequestError) as refused:
        valid(grammar, value, "environment")
    assert str(refused.value).startswith(f"environment: {value!r}: {told}")
