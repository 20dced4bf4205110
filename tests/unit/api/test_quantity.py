import pytest

from worker_agent.api import quantity


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("1000m", "1"),
        ("0.5", "500m"),
        ("1500m", "1500m"),
        ("1024", "1024"),
        ("1024Ki", "1Mi"),
        ("1.5Gi", "1536Mi"),
        ("1000Ki", "1000Ki"),
        ("0.5Ki", "512"),
        ("1.1Gi", "1181116006400m"),
        ("1e3", "1e3"),
        ("10E2", "1e3"),
        ("12E", "9223372036854775807"),
        ("0.1n", "1n"),
        ("-1.5", "-1500m"),
        ("000", "0"),
        ("0Gi", "0"),
        (5, "5"),
        (2000, "2k"),
        (0.25, "250m"),
        (1e21, "9223372036854775807"),
        (" 1 ", "1"),
    ],
)
def test_canonical(written: str | int | float, printed: str) -> None:
    assert quantity.canonical(written) == printed


@pytest.mark.parametrize(("written", "milli", "units"), [("0.0003", 1, 1), ("1.5", 1500, 2), ("-1100m", -1100, -2)])
def test_integers(written: str, milli: int, units: int) -> None:
    assert (quantity.milli(written), quantity.units(written)) == (milli, units)


@pytest.mark.parametrize(
    ("resource", "number", "printed"),
    [
        ("cpu", 1500, "1500m"),
        ("cpu", 2000, "2"),
        ("memory", 2 << 30, "2Gi"),
        ("memory", 1000, "1k"),
        ("ephemeral-storage", 3 << 20, "3Mi"),
        ("hugepages-2Mi", 4 << 20, "4Mi"),
        ("nvidia.com/gpu", 3000, "3k"),
        ("pods", 0, "0"),
    ],
)
def test_engine_integers_print_as_kubernetes_does(resource: str, number: int, printed: str) -> None:
    assert quantity.format_value(resource, number) == printed


@pytest.mark.parametrize("text", ["", "abc", "1.2.3", "1 Gi", "5x"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(quantity.QuantityError, match="quantities must match"):
        quantity.parse(text)


@pytest.mark.parametrize("text", ["1KK", "1ee3", "1i", "1mi", "1K", "--1"])
def test_an_unknown_suffix_is_refused(text: str) -> None:
    with pytest.raises(quantity.QuantityError, match="suffix"):
        quantity.parse(text)


def test_an_absurd_exponent_is_capped_not_computed() -> None:
    assert quantity.units("1e999999999999") == 2**63 - 1
    assert quantity.milli("1e-999999999999") == 1
