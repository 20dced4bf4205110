"""Server-side apply and field ownership; outcomes as kube-apiserver 1.36.3 gives them."""

import pytest

from hub.local.apiserver.schema.server_side_apply import ApplyConflict, ApplyError
from tests.unit.apiserver_schema.things import (
    NOW,
    STAMP,
    THING,
    apply,
    config,
    fields,
    job,
    thing,
    things,
)


def created(manager="m", **spec):
    """A Thing that was created, not applied."""
    document = things().default(THING, thing(**spec))
    owned = things().managed_fields_after_update(THING, document, None, manager, "", NOW)
    return {**document, "metadata": {**document["metadata"], "uid": "u", "managedFields": owned}}


def test_the_applier_owns_what_it_names():
    live = apply(None, config(name="x", labels={"k": "v"}))
    assert fields(live, "a") == {"f:spec": {"f:labels": {"f:k": {}}, "f:name": {}}}


def test_defaults_are_owned_by_no_one():
    live = apply(None, config(name="x"))
    assert live["spec"]["on"] is True
    assert fields(live, "a") == {"f:spec": {"f:name": {}}}


def test_a_creator_owns_defaults_too():
    live = created(name="x")
    assert fields(live, "m", "Update") == {"f:spec": {".": {}, "f:name": {}, "f:on": {}}}


def test_another_value_is_a_conflict():
    with pytest.raises(ApplyConflict) as caught:
        apply(created(name="x"), config(name="y"))
    assert str(caught.value) == 'Apply failed with 1 conflict: conflict with "m" using ex.io/v1: .spec.name'
    cause = {"reason": "FieldManagerConflict", "message": 'conflict with "m" using ex.io/v1', "field": ".spec.name"}
    assert caught.value.causes == [cause]


def test_several_conflicts_are_listed_by_manager():
    with pytest.raises(ApplyConflict) as caught:
        apply(created(name="x", count=1), config(name="y", count=2))
    assert str(caught.value) == (
        'Apply failed with 2 conflicts: conflicts with "m" using ex.io/v1:\n- .spec.count\n- .spec.name'
    )


def test_force_takes_the_field():
    live = apply(created(name="x"), config(name="y"), force=True)
    assert live["spec"]["name"] == "y"
    assert "f:name" not in fields(live, "m", "Update")["f:spec"]


def test_equal_values_are_owned_together():
    live = apply(created(name="x"), config(name="x"))
    assert fields(live, "a") == {"f:spec": {"f:name": {}}}
    assert "f:name" in fields(live, "m", "Update")["f:spec"]


def test_a_field_no_longer_applied_goes_away():
    live = apply(apply(None, config(name="x", count=1)), config(name="x"))
    assert "count" not in live["spec"]


def test_a_field_someone_else_owns_stays():
    live = apply(apply(None, config(name="x", count=1)), config(count=1), manager="b")
    assert apply(live, config(name="x"))["spec"]["count"] == 1


def test_applying_again_changes_nothing():
    live = apply(None, config(name="x", items=[{"name": "i"}], tags=["t"]))
    assert apply(live, config(name="x", items=[{"name": "i"}], tags=["t"])) == live


def test_keyed_items_merge_and_are_owned_by_key():
    live = apply(apply(None, config(items=[{"name": "i", "size": 1}])), config(items=[{"name": "j"}]), manager="b")
    assert [item["name"] for item in live["spec"]["items"]] == ["i", "j"]
    assert fields(live, "b") == {"f:spec": {"f:items": {'k:{"name":"j"}': {".": {}, "f:name": {}}}}}


def test_an_item_no_longer_applied_goes_away():
    live = apply(apply(None, config(items=[{"name": "i"}, {"name": "j"}])), config(items=[{"name": "j"}]))
    assert [item["name"] for item in live["spec"]["items"]] == ["j"]


def test_set_items_are_owned_one_by_one():
    live = apply(apply(None, config(tags=["a"])), config(tags=["b"]), manager="b")
    assert live["spec"]["tags"] == ["a", "b"]
    assert fields(live, "b") == {"f:spec": {"f:tags": {'v:"b"': {}}}}


def test_an_atomic_map_is_owned_whole():
    live = apply(None, config(whole={"x": "1"}))
    assert fields(live, "a") == {"f:spec": {"f:whole": {}}}
    with pytest.raises(ApplyConflict, match=r"\.spec\.whole"):
        apply(live, config(whole={"y": "2"}), manager="b")


def test_an_atomic_list_is_replaced():
    live = apply(apply(None, config(words=["a", "b"])), config(words=["c"]), manager="b", force=True)
    assert live["spec"]["words"] == ["c"]


def test_free_form_fields_are_owned_field_by_field():
    live = apply(None, config(free={"x": {"y": 1}}))
    assert fields(live, "a") == {"f:spec": {"f:free": {"f:x": {".": {}, "f:y": {".": {}}}}}} or fields(live, "a") == {
        "f:spec": {"f:free": {"f:x": {".": {}, "f:y": {}}}}
    }


def test_the_status_endpoint_has_owners_of_its_own():
    live = apply(None, config(name="x"))
    applied = {**config(), "status": {"phase": "A"}}
    live = apply(live, applied, manager="a", subresource="status")
    assert fields(live, "a", subresource="status") == {"f:status": {"f:phase": {}}}
    assert fields(live, "a") == {"f:spec": {"f:name": {}}}


def test_status_applied_at_the_main_endpoint_is_owned_by_no_one():
    live = apply(None, {**config(name="x"), "status": {"phase": "A"}})
    assert fields(live, "a") == {"f:spec": {"f:name": {}}}


def test_an_update_takes_what_it_changes():
    live = created(name="x", count=1)
    owned = things().managed_fields_after_update(
        THING, {**live, "spec": {**live["spec"], "count": 2}}, live, "p", "", NOW
    )
    assert fields({"metadata": {"managedFields": owned}}, "p", "Update") == {"f:spec": {"f:count": {}}}


def test_an_update_that_changes_nothing_keeps_times():
    live = created(name="x")
    assert things().managed_fields_after_update(THING, live, live, "p", "", NOW) == live["metadata"]["managedFields"]


def test_entries_carry_the_time_of_the_change():
    (entry,) = created(name="x")["metadata"]["managedFields"]
    assert entry["time"] == STAMP


def test_emptied_managed_fields_forget_everyone():
    live = created(name="x")
    reset = {**live, "metadata": {**live["metadata"], "managedFields": [{}]}}
    assert things().managed_fields_after_update(THING, reset, live, "p", "", NOW) == []


def test_before_the_first_apply_everything_belongs_to_one_manager():
    live = created(name="x")
    del live["metadata"]["managedFields"]
    live = apply(live, config(count=1))
    assert "f:name" in fields(live, "before-first-apply", "Update")["f:spec"]


def test_at_most_ten_updaters_are_kept():
    live = created(count=0)
    for number in range(14):
        changed = {**live, "spec": {**live["spec"], "labels": {str(n): "x" for n in range(number + 1)}}}
        owned = things().managed_fields_after_update(THING, changed, live, f"p{number:02}", "", NOW)
        live = {**changed, "metadata": {**changed["metadata"], "managedFields": owned}}
    managers = [entry["manager"] for entry in live["metadata"]["managedFields"]]
    assert len(managers) == 10
    assert "ancient-changes" in managers


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ({"nope": 1}, ".spec.nope: field not declared in schema"),
        ({"name": 5}, ".spec.name: expected string, got &value.valueUnstructured{Value:5}"),
        ({"items": [{"name": "a"}, {"name": "a"}]}, '.spec.items: duplicate entries for key [name="a"]'),
        ({"count": "x"}, ".spec.count: expected numeric (int or float), got string"),
    ],
)
def test_a_value_its_schema_forbids_cannot_be_applied(spec, complaint):
    with pytest.raises(ApplyError) as caught:
        apply(None, config(**spec))
    assert caught.value.status == 500
    assert str(caught.value) == f"failed to create typed patch object (ns/t; ex.io/v1, Kind=Thing): {complaint}"


def test_managed_fields_cannot_be_applied():
    document = config(name="x")
    document["metadata"]["managedFields"] = []
    with pytest.raises(ApplyError, match=r"metadata\.managedFields must be nil"):
        apply(None, document)


def test_ports_are_keyed_with_their_default_protocol():
    container = {"name": "c", "image": "i", "ports": [{"containerPort": 80}]}
    applied = job()
    applied["spec"]["template"]["spec"]["containers"] = [container]
    live = apply(None, applied)
    ports = fields(live, "a")["f:spec"]["f:template"]["f:spec"]["f:containers"]['k:{"name":"c"}']["f:ports"]
    assert list(ports) == ['k:{"containerPort":80,"protocol":"TCP"}']
