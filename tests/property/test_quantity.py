"""Quantities against exact rational arithmetic, over any form that can be written."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from worker_agent.api import quantity

SUFFIXES = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    "k": Fraction(1000),
}
SUFFIXES |= {
    "k": Fraction(1000),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
}
SUFFIXES |= {letter + "i": Fraction(1024**power) for power, letter in enumerate("KMGTP", 1)}
SUFFIXES |= {f"e{power}": Fraction(10) ** power for power in range(-6, 12)}
BOUND = Fraction(2**63 - 1)

numbers = st.tuples(
    st.sampled_from(["", "+", "-"]),
    st.integers(0, 10**14),
    st.one_of(st.none(), st.text("0123456789", max_size=12)),
    st.sampled_from(sorted(SUFFIXES)),
)


def written(parts: tuple[str, int, str | None, str]) -> tuple[str, Fraction]:
    sign, whole, decimals, suffix = parts
    text = f"{sign}{whole}" + ("" if decimals is None else f".{decimals}") + suffix
    exact = (Fraction(whole) + Fraction(int(decimals or 0), 10 ** len(decimals or ""))) * SUFFIXES[suffix]
    return text, -exact if sign == "-" else exact


def away_from_zero(exact: Fraction) -> int:
    whole = -(-abs(exact).numerator // abs(exact).denominator)
    return whole if exact >= 0 else -whole


@given(numbers)
def test_value_is_exact_to_the_nano_and_capped_at_int64(parts: tuple[str, int, str | None, str]) -> None:
    text, exact = written(parts)
    nanos = away_from_zero(exact * 10**9)
    assert quantity.parse(text) == max(-BOUND, min(BOUND, Fraction(nanos, 10**9)))


@given(numbers)
def test_integers_round_away_from_zero(parts: tuple[str, int, str | None, str]) -> None:
    text, exact = written(parts)
    nano = Fraction(away_from_zero(exact * 10**9), 10**9)
    for count, factor in ((quantity.units(text), 1), (quantity.milli(text), 1000)):
        assert count == max(-(2**63), min(2**63 - 1, away_from_zero(max(-BOUND, min(BOUND, nano)) * factor)))


@given(numbers)
def test_canonical_form_keeps_the_value_and_is_stable(parts: tuple[str, int, str | None, str]) -> None:
    printed = quantity.canonical(written(parts)[0])
    assert quantity.parse(printed) == quantity.parse(written(parts)[0])
    assert quantity.canonical(printed) == printed


@given(st.sampled_from(["cpu", "memory", "pods", "hugepages-2Mi", "nvidia.com/gpu"]), st.integers(0, 2**62))
def test_an_engine_integer_survives_printing(resource: str, number: int) -> None:
    assert quantity.value(resource, quantity.format_value(resource, number)) == number


@given(st.text(max_size=12))
def test_any_text_parses_or_is_refused_with_the_known_words(text: str) -> None:
    refusal = ""
    try:
        quantity.parse(text)
    except quantity.QuantityError as error:
        refusal = str(error)
    assert not refusal or "quantit" in refusal
