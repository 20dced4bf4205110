"""The log of a program: its form, its level, and what its lines are about."""

import logging

import msgspec
import pytest

from worker_agent import log_context
from worker_agent.cli import program_log
from worker_agent.cli.program_log import LogOptionError, LogOptions, ProgramLog


def record(level=logging.INFO, **extra):
    made = logging.LogRecord("hub.controllers", level, __file__, 1, "workload %s goes", ("ns/w",), None)
    made.created = 1767225600.25
    vars(made).update(extra)
    return made


JSON = LogOptions(encoder="json")


def line(options=JSON, made=None):
    return msgspec.json.decode(program_log.formatter(options).format(made or record()))


@pytest.fixture(autouse=True)
def _about_nothing():
    token = log_context.WORKLOAD.set("")
    yield
    log_context.WORKLOAD.reset(token)


def test_a_line_is_one_object():
    assert line() == {
        "level": "info",
        "ts": "2026-01-01T00:00:00.250000Z",
        "logger": "hub.controllers",
        "msg": "workload ns/w goes",
    }


def test_a_line_tells_which_workload_and_worker_it_is_about():
    log_context.about("ns/w")
    with log_context.at_cluster("east"):
        told = line()
    assert (told["workload"], told["cluster"]) == ("ns/w", "east")
    assert "cluster" not in line()


def test_a_line_tells_the_role_of_the_replica():
    token = log_context.ROLE.set(lambda: "follower")
    try:
        assert line()["replica-role"] == "follower"
    finally:
        log_context.ROLE.reset(token)


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("epoch", 1767225600.25),
        ("millis", 1767225600250.0),
        ("nano", 1767225600250000000),
        ("iso8601", "2026-01-01T00:00:00.250Z"),
        ("rfc3339", "2026-01-01T00:00:00Z"),
    ],
)
def test_times_are_written_as_asked(encoding, shown):
    assert line(LogOptions(encoder="json", time_encoding=encoding))["ts"] == shown


def test_text_names_what_it_is_about_at_the_end():
    log_context.about("ns/w")
    text = program_log.formatter(LogOptions(encoder="console")).format(record())
    assert text == "2026-01-01T00:00:00.250000Z INFO hub.controllers workload ns/w goes  workload=ns/w"


def test_errors_carry_their_stack():
    try:
        raise ValueError("wrong")
    except ValueError as error:
        made = record(logging.ERROR, exc_info=(ValueError, error, error.__traceback__))
    assert "ValueError: wrong" in line(made=made)["stacktrace"]


@pytest.mark.parametrize(
    ("text", "level"),
    [("", "INFO"), ("debug", "DEBUG"), ("error", "ERROR"), ("panic", "CRITICAL"), ("2", "INFO"), ("5", "DEBUG")],
)
def test_levels_are_words_or_numbers(text, level):
    assert logging.getLevelName(program_log.level(LogOptions(text))) == level


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (LogOptions(level="loud"), "--zap-log-level: 'loud': must be one of debug, info"),
        (LogOptions(level="0"), "--zap-log-level: '0'"),
        (LogOptions(encoder="xml"), "--zap-encoder: 'xml': must be one of json, console"),
        (LogOptions(time_encoding="stardate"), "--zap-time-encoding: 'stardate'"),
        (LogOptions(stacktrace_level="debug"), "--zap-stacktrace-level: 'debug'"),
    ],
)
def test_options_that_cannot_be_read_are_named(options, message):
    with pytest.raises(LogOptionError, match=message):
        ProgramLog(options)


def test_the_level_goes_to_debug_and_back_while_libraries_stay_quiet():
    log = ProgramLog(LogOptions(level="info", encoder="json"))
    log.start()
    log.toggle()
    assert logging.getLogger("worker_agent.kube").isEnabledFor(logging.DEBUG)
    assert not logging.getLogger("aiohttp.client").isEnabledFor(logging.INFO)
    log.toggle()
    assert not logging.getLogger("worker_agent.kube").isEnabledFor(logging.DEBUG)
