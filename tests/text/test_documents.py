"""The one reader of JSON: strict where readers of JSON disagree."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modak.errors import BadSyntax
from modak.text.documents import DEEPEST, strict_json

BAD = [
    (b" \n", "not valid JSON: nothing is there"),
    (b'{"a": {"b": 1}\n', "line 2, column 1: not valid JSON: it ends before its last bracket is closed"),
    (b"import torch", "line 1, column 1: not valid JSON: a document begins with { or \\["),
    (b"// mine\n{}", "line 1, column 1: not valid JSON: JSON has no comments"),
    (b"```json\n{}\n```", "line 1, column 1: not valid JSON: the lines with ``` around it are none of it"),
    (b'{"a": "b\n}', 'line 1, column 9: not valid JSON: the closing " of a text is missing in this line'),
    (b'{"a": "b\tc"}', "not valid JSON: control characters are written with a backslash: "),
    (b'{"a":\n "b": "c"}}', "line 2, column 5: not valid JSON: a { is missing before the name"),
    (b'{"a": true\n"b": 1}', "line 2, column 1: not valid JSON: a comma is missing"),
    (b'{"a": {}.\n"b": 1}', "line 1, column 9: not valid JSON: a comma is missing"),
    (b'{"a": 01:30:00}', "line 1, column 8: not valid JSON: no number of JSON is written so; texts stand in double quotes"),
    (b'{"a": 10:30:00}', "line 1, column 9: not valid JSON: no number of JSON is written so"),
    (b'{"a": 64GB}', "line 1, column 9: not valid JSON: no number of JSON is written so"),
    (b'{"a": "b, "c": 1}', 'line 1, column 12: not valid JSON: a " is missing further left, or a backslash before one within a text'),
    (b'{"a": 1"b": 2}', "not valid JSON: a comma is missing"),
    (b"{'a': 1}", "not valid JSON: names and texts stand in straight double quotes"),
    ('{"a": “b”}'.encode(), "not valid JSON: names and texts stand in straight double quotes"),
    (b'{"a": 1, // one\n "b": 2}', "not valid JSON: JSON has no comments"),
    (b'{"a": 1 # one\n}', "not valid JSON: JSON has no comments"),
    (b'{"a": True}', "not valid JSON: true is written in small letters"),
    (b'"optimisation": {"a": 1}', "column 15: not valid JSON: the { before it and the } behind it are missing"),
    (b'{"a": 1}\n{"b": 2}', "line 2, column 1: not valid JSON: more follows its end"),
    (b'{"a": 1 "b": 2}', "not valid JSON: a comma is missing"),
    (b'{"a": [1, 2}', "column 12: not valid JSON: a ] is missing before the }"),
    (b'{"a": 1]', "column 8: not valid JSON: a } is missing before the ]"),
    (b'{"a": "sh -c "cd b""}', 'not valid JSON: a " is missing further left, or a backslash before one within a text'),
    (b'{"a": 10 GB}', "not valid JSON: no number of JSON is written so; texts stand in double quotes"),
    (b'{"a": 007}', "not valid JSON: no number of JSON is written so"),
    (b'{"a": 1,\n}', "not valid JSON: a comma before the closing }"),
    (b'{"a": [1, 2 , ]}', "not valid JSON: a comma before the closing ]"),
    (b"[,]", "not valid JSON"),
    (b'{"a": NaN}', "NaN"),
    (b"[Infinity]", "Infinity"),
    (b"[-Infinity]", "-Infinity"),
    (b"[1e999]", "range"),
    (b"[-1e999]", "range"),
    (b'{"a": 1, "a": 2}', "twice"),
    (b'{"x": [{"a": 1, "b": 2, "a": 3}]}', "'a' appears twice"),
    (b'["\\ud800"]', "surrogate"),
    (b'{"\\udfff": 1}', "surrogate"),
    (b'["\\u0000"]', "NUL"),
    (b'{"a\\u0000": 1}', "NUL"),
    (b'["a\x00"]', "not valid JSON"),
    (b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1), "levels"),
    (b"[" * 1000 + b"]" * 1000, "levels"),
    (b"[" * 100_000 + b"]" * 100_000, "levels"),
    (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "levels"),
    (b"1" * 5000, "integer"),
    (b"[-" + b"9" * 21 + b"]", "integer"),
    (b"\xef\xbb\xbf\xef\xbb\xbf{}", "column 1: not valid JSON: a document begins with { or \\["),
    ('{"a": 1}'.encode("utf-16"), "text in UTF-16; save it as UTF-8"),
    ('["é"]'.encode("latin-1"), "byte 3: not valid UTF-8"),
    (b"[1] [2]", "not valid JSON"),
]


@pytest.mark.parametrize(("text", "says"), BAD, ids=range(len(BAD)))
def test_what_no_honest_client_sends_is_refused(text: bytes, says: str) -> None:
    """With status 400, and a line that says what it is."""
    with pytest.raises(BadSyntax, match=says) as caught:
        strict_json(text)
    assert caught.value.status == 400
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "text", ['{"a": [1, -2.5, 1e3, true, null, "é😀"]}', "[" * DEEPEST + "]" * DEEPEST, "99999999999999999999", ' "x" \n']
)
def test_honest_documents_are_read(text: str) -> None:
    """As text and as bytes, with the value that the standard library reads."""
    assert strict_json(text) == strict_json(text.encode()) == json.loads(text)


def test_a_byte_order_mark_is_no_part_of_the_document() -> None:
    """Editors under Windows write it. Also where somebody else decoded it; inside of a text it stays."""
    text = '\ufeff{"a": "\ufeffb"}'
    assert strict_json(text) == strict_json(text.encode()) == {"a": "\ufeffb"}


@settings(max_examples=300)
@given(st.binary(max_size=60) | st.text(max_size=60) | st.text('[]{}:,"\\ 0135.-+eEulrtnfas', max_size=12))
def test_no_other_error_comes_out(text: Any) -> None:
    """Whatever the bytes: our own error, or a value that JSON can say, in UTF-8."""
    try:
        found = strict_json(text)
    except BadSyntax:
        return
    assert strict_json(json.dumps(found, allow_nan=False).encode()) == found
