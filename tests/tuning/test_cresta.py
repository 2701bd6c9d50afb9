"""The text input of CRESTA's tuner: read for its parameters, or refused by its line."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from modak.errors import RequestError
from modak.text.words import Joined, Variable
from modak.tuning.cresta import FIELD, SUPPORTED, Cresta, read

TEXT = r"""! a solver's block size and a switch
begin configuration
 begin tune
  mode: tune
  scope: NB OPT R
  target: max
  metric-source: stdout
  metric-placement: lastregexp
  metric-regexp: metric (\d+)
 end tune
end configuration
begin parameters
 begin typing
  int NB
  real R
  label OPT
  int Q
 end typing
 begin constraints
  range NB 80:120:20
  range R 0.1 0.2 0.3 default 0.2
  range OPT "YES",'NO'
  range Q 2-4
  depends NB OPT
 end constraints
end parameters
begin build
 command: make
end build
begin run
 command: ./solver NB=$NB
end run
"""


def test_parameters_metric_and_command_are_read() -> None:
    """Those in the scope, with their types and defaults; the run command uses them as variables."""
    found = read(TEXT)
    assert dict(found.space.environment) == {"NB": (80, 100, 120), "OPT": ("YES", "NO"), "R": (0.1, 0.2, 0.3)}
    assert dict(found.setting.environment) == {"R": 0.2}
    assert found.command == ("./solver", Joined(parts=("NB=", Variable(variable="NB"))))
    assert found.metric is not None
    assert (found.metric.name, found.metric.pattern) == ("throughput", "metric ([0-9]+)")


def test_a_range_between_two_numbers_holds_both() -> None:
    """``2-4`` is 2, 3, 4; without a scope every parameter is tuned."""
    found = read(TEXT.replace("  scope: NB OPT R\n", ""))
    assert found.space.environment["Q"] == (2, 3, 4)


def test_the_time_of_the_run_is_the_metric_where_the_text_says_runtime() -> None:
    """No pattern is needed."""
    assert read(TEXT.replace("target: max", "target: min").replace("source: stdout", "source: runtime")).metric is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  depends NB OPT", "  constraint NB * Q == 64", "line 24: 'constraint' in section 'parameters.constraints' is not supported"),
        ("mode: tune", "mode: scenarios", "mode 'scenarios' is not supported"),
        ("command: make", "command: make NB=$NB", "parameters of the build are not supported"),
        ("80:120:20", "80:120:0", "is no range of ints"),
        ("80:120:20", "120:80", "is no range of ints"),
        ("80:120:20", "1-1001", "is no range of ints"),
        ("80:120:20", "80,many", "is no range of ints"),
        ("0.1 0.2 0.3", "1-3", "is no range of reals"),
        ("0.1 0.2 0.3", "0.1 many", "is no range of reals"),
        ("default 0.2", "default most", "the default 'most' is no real"),
        ("range OPT", "range OTHER", "OPT is in the scope and has no type and range"),
        ("end run", "", "'begin run' is not ended"),
        ("end build", "end bild", "ends no section that is open"),
        ("begin build", "begin sources", "'command' in section 'sources' is not supported"),
        ("begin build", "end", "'command' in section 'none' is not supported"),
        ("target: max", "target: most", "target 'most' is not supported"),
        ("source: stdout", "source: runtime", "metric-source 'runtime' with target 'max' is not supported"),
        ("source: stdout", "source: papi", "metric-source 'papi' with target 'max' is not supported"),
        (r"metric (\d+)", r"metric (?P<x>\d+)", "metric-regexp"),
        ("NB", "LD_PRELOAD", "LD_PRELOAD"),
    ],
)
def test_what_has_no_counterpart_is_refused_with_what_is_supported(old: str, new: str, message: str) -> None:
    """By the line that it stands in."""
    with pytest.raises(RequestError) as refused:
        read(TEXT.replace(old, new))
    assert message in str(refused.value)
    assert SUPPORTED in str(refused.value)


@pytest.mark.parametrize("command", ["", "true", "echo"])
def test_a_command_that_does_nothing_is_none(command: str) -> None:
    """Examples that came with the tuner have such: the request's own is run."""
    assert read(TEXT.replace("./solver NB=$NB", command)).command == ()


def test_a_file_without_a_parameter_is_refused() -> None:
    """There is nothing to tune."""
    with pytest.raises(RequestError, match=r"^optimisation\.\S+: no parameter is named"):
        read("begin configuration\n  begin tune\n    mode: tune\n  end tune\nend configuration\n")


def test_a_command_that_a_shell_would_act_on_is_refused() -> None:
    """The run command is parsed to words as any other."""
    with pytest.raises(RequestError, match="a shell acts on ';'"):
        read(TEXT.replace("./solver NB=$NB", "./solver; rm -rf x"))


LINES = TEXT.splitlines()
DAMAGED = st.tuples(
    st.sampled_from(range(len(LINES))), st.integers(0, 30), st.sampled_from(["", "range", "nan", "1-9999", "9" * 30, "default", "²"])
)


@given(st.lists(DAMAGED, min_size=1, max_size=3))
@example([(LINES.index("  range NB 80:120:20"), len("  range"), "")])
def test_a_damaged_text_is_read_whole_or_refused_by_its_field(damage: list[tuple[int, int, str]]) -> None:
    """Lines are cut off, and something else put there: what is read has values for each parameter."""
    lines = list(LINES)
    for place, cut, rest in damage:
        lines[place] = lines[place][:cut] + rest
    found = read_or_refused("\n".join(lines))
    if isinstance(found, RequestError):
        assert all(fault.field.startswith(FIELD) for fault in found.faults)
    else:
        assert found.space.environment
        assert all(values for values in found.space.environment.values())


def read_or_refused(text: str) -> Cresta | RequestError:
    """What is read, or why not."""
    try:
        return read(text)
    except RequestError as error:
        return error
