import pytest

from worker_agent.validation import field_error
from worker_agent.validation.field_error import FieldError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (field_error.invalid("spec.x", "v", "is wrong"), 'spec.x: Invalid value: "v": is wrong'),
        (field_error.invalid("spec.x", 3, "is wrong"), "spec.x: Invalid value: 3: is wrong"),
        (field_error.invalid("spec.x", None, "is wrong"), "spec.x: Invalid value: null: is wrong"),
        (field_error.invalid("spec.x", field_error.OMIT, "is wrong"), "spec.x: Invalid value: is wrong"),
        (field_error.required("spec.x", ""), "spec.x: Required value"),
        (field_error.forbidden("spec.x", "not now"), "spec.x: Forbidden: not now"),
        (field_error.duplicate("spec.x", "v"), 'spec.x: Duplicate value: "v"'),
        (field_error.not_found("spec.x", "v"), 'spec.x: Not found: "v"'),
        (field_error.not_supported("spec.x", "v", []), 'spec.x: Unsupported value: "v"'),
        (
            field_error.not_supported("spec.x", "v", ["a", "b"]),
            'spec.x: Unsupported value: "v": supported values: "a", "b"',
        ),
        (field_error.too_long("spec.x", 63), "spec.x: Too long: may not be more than 63 bytes"),
        (field_error.too_many("spec.x", 19, 18), "spec.x: Too many: 19: must have at most 18 items"),
        (field_error.immutable("spec.x", {"a": 1}), 'spec.x: Invalid value: {"a":1}: field is immutable'),
    ],
)
def test_text(error: FieldError, text: str):
    assert str(error) == text


def test_many_errors_are_one_line_and_none_is_said_twice():
    one, other = field_error.required("a", ""), field_error.required("b", "")
    assert field_error.aggregate([one]) == "a: Required value"
    assert field_error.aggregate([one, other, one]) == "[a: Required value, b: Required value]"
