"""Resource transformations (spec/engine 3.5)."""

from fractions import Fraction

from worker_agent.engine.transformations import read_transformations, transform

MIG = read_transformations(
    [
        {"input": "mig-1g", "strategy": "Replace", "outputs": {"accelerator-memory": "5Ki", "credits": "10"}},
        {"input": "mig-2g", "strategy": "Replace", "outputs": {"accelerator-memory": "10Ki", "credits": "15"}},
        {"input": "gpu", "outputs": {"accelerator-memory": "40Ki", "credits": "100"}},
    ]
)
ALLOWANCE = read_transformations(
    [
        {"input": "gpumem", "strategy": "Replace", "multiplyBy": "gpu", "outputs": {"overage": "1"}},
        {"input": "gpu", "outputs": {"overage": "-1024"}},
    ]
)


def test_replaced_resources_add_up_in_their_outputs() -> None:
    requests = {"mig-1g": Fraction(2), "mig-2g": Fraction(1)}
    assert transform(requests, MIG) == {"accelerator-memory": 20480, "credits": 35}


def test_a_retained_resource_stays_beside_its_outputs() -> None:
    assert transform({"gpu": Fraction(1)}, MIG) == {"gpu": 1, "accelerator-memory": 40960, "credits": 100}


def test_outputs_are_multiplied_by_another_request() -> None:
    assert transform({"gpumem": Fraction(2048), "gpu": Fraction(2)}, ALLOWANCE) == {"gpu": 2, "overage": 2048}


def test_a_negative_output_counts_as_nothing() -> None:
    assert transform({"gpumem": Fraction(512), "gpu": Fraction(2)}, ALLOWANCE) == {"gpu": 2, "overage": 0}


def test_a_negative_output_takes_nothing_from_an_ordinary_request() -> None:
    requests = {"gpumem": Fraction(512), "gpu": Fraction(2), "overage": Fraction(7)}
    assert transform(requests, ALLOWANCE)["overage"] == 7


def test_vectors_without_an_input_are_left_alone() -> None:
    assert transform({"cpu": Fraction(1)}, MIG) == {"cpu": 1}
