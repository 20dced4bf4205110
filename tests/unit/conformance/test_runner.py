import json
from pathlib import Path

import pytest

from tests.conformance import registry, runner
from tests.conformance.case import Document, Skip


def judge(case: Document) -> list[str]:
    if case["name"] == "untold":
        raise Skip("not told")
    return {"same": [], "other": ["a: expected 1, got 2"]}[case["name"]]


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    folder.mkdir()
    lines = [json.dumps({"name": name}) for name in ("same", "other", "untold", "broken")]
    (folder / "TestAny.jsonl").write_text("\n".join(lines))
    monkeypatch.setattr(registry, "_runners", lambda area: {"Test*": judge} if area == "cache" else {})
    return tmp_path


def test_counts_and_prints_what_differs(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert runner.main([str(recorded)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["FAILED cache/TestAny: other", "    a: expected 1, got 2"]
    assert any("KeyError" in line for line in lines)
    assert lines[-2:] == ["skipped 1: not told", "1 passed, 2 failed, 1 skipped"]


def test_only_some_cases(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert runner.main([str(recorded / "cache" / "TestAny.jsonl"), "-k", "same"]) == 0
    assert capsys.readouterr().out == "1 passed, 0 failed, 0 skipped\n"


def test_a_missing_path_is_an_error(tmp_path: Path) -> None:
    assert runner.main([str(tmp_path / "nowhere")]) == 2


def test_a_file_in_a_folder_of_another_name_is_known_by_its_stem(recorded: Path) -> None:
    moved = recorded / "cache" / "TestAny.jsonl"
    moved.rename(recorded / "TestAny.jsonl")
    assert runner.run([recorded], only="same").passed == 1
