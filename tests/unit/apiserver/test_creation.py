from tests.unit.apiserver.world import CONFIG_MAPS, JOBS, NAMESPACES, World, config_map, job


def test_server_sets_system_fields(world: World) -> None:
    reply = world.post(CONFIG_MAPS, config_map("a", uid="mine", creationTimestamp="2001-01-01T00:00:00Z"))
    metadata = reply.document["metadata"]
    assert reply.status == 201
    assert metadata["uid"] != "mine"
    assert metadata["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert metadata["resourceVersion"] == str(world.version)
    assert metadata["namespace"] == "default"


def test_generate_name_appends_five_characters_of_the_alphabet(world: World) -> None:
    document = config_map("")
    document["metadata"] = {"generateName": "run-"}
    name = world.post(CONFIG_MAPS, document).document["metadata"]["name"]
    assert name.startswith("run-")
    assert len(name) == len("run-") + 5
    assert set(name.removeprefix("run-")) <= set("bcdfghjklmnpqrstvwxz2456789")


def test_second_of_the_same_name_is_refused(world: World) -> None:
    world.post(JOBS, job("a"))
    reply = world.post(JOBS, job("a"))
    assert (reply.status, reply.document["reason"]) == (409, "AlreadyExists")
    assert reply.message == 'jobs.batch "a" already exists'
    assert reply.document["details"] == {"name": "a", "group": "batch", "kind": "jobs"}


def test_namespace_must_exist(world: World) -> None:
    reply = world.post("/api/v1/namespaces/nowhere/configmaps", config_map("a"))
    assert (reply.status, reply.message) == (404, 'namespaces "nowhere" not found')


def test_namespace_of_body_must_be_that_of_path(world: World) -> None:
    reply = world.post(CONFIG_MAPS, config_map("a", namespace="other"))
    assert reply.status == 400
    assert reply.message == "the namespace of the provided object does not match the namespace sent on the request"


def test_terminating_namespace_takes_nothing_new(world: World) -> None:
    world.post("/api/v1/namespaces/other/configmaps", config_map("held", finalizers=["example.com/hold"]))
    world.delete(f"{NAMESPACES}/other")
    world.clean()
    reply = world.post("/api/v1/namespaces/other/configmaps", config_map("late"))
    assert reply.status == 403
    assert reply.message == (
        'configmaps "late" is forbidden: unable to create new content in namespace other because it is being terminated'
    )
    assert reply.document["details"]["causes"][0]["reason"] == "NamespaceTerminating"


def test_job_gets_selector_and_labels_of_its_uid(world: World) -> None:
    made = world.post(JOBS, job("a")).document
    uid = made["metadata"]["uid"]
    assert made["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    assert made["spec"]["template"]["metadata"]["labels"]["batch.kubernetes.io/job-name"] == "a"
    assert made["metadata"]["generation"] == 1


def test_status_is_not_taken_on_creation(world: World) -> None:
    made = world.post(JOBS, {**job("a"), "status": {"active": 7}}).document
    assert made["status"] == {}


def test_secret_string_data_becomes_data(world: World) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"k": "v"}}
    made = world.post("/api/v1/namespaces/default/secrets", secret).document
    assert made["data"] == {"k": "dg=="}
    assert "stringData" not in made


def test_dry_run_stores_nothing(world: World) -> None:
    version = world.version
    reply = world.post(f"{CONFIG_MAPS}?dryRun=All", config_map("a"))
    assert reply.status == 201
    assert "resourceVersion" not in reply.document["metadata"]
    assert world.version == version
    assert world.get(f"{CONFIG_MAPS}/a").status == 404


def test_dry_run_takes_only_all(world: World) -> None:
    reply = world.post(f"{CONFIG_MAPS}?dryRun=Some", config_map("a"))
    assert reply.status == 422
    assert 'dryRun: Unsupported value: ["Some"]: supported values: "All"' in reply.message


def test_kind_of_body_must_be_that_of_path(world: World) -> None:
    reply = world.post(CONFIG_MAPS, job("a"))
    assert reply.status == 400
    assert reply.message == (
        'Job in version "v1" cannot be handled as a ConfigMap: '
        "converting (v1.Job) to (core.ConfigMap): unknown conversion"
    )


def test_malformed_json_is_a_bad_request(world: World) -> None:
    reply = world.post(CONFIG_MAPS, b"{nonsense")
    assert reply.status == 400
    assert reply.message == (
        "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; "
        "json parse error: invalid character 'n' looking for beginning of object key string ({nonsense)"
    )


def test_yaml_body_is_read(world: World) -> None:
    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\ndata: {a: b}\n"
    assert world.post(CONFIG_MAPS, text, content_type="application/yaml").document["data"] == {"a": "b"}


def test_unknown_media_type_is_415(world: World) -> None:
    reply = world.post(CONFIG_MAPS, b"<x/>", content_type="text/xml")
    assert (reply.status, reply.document["reason"]) == (415, "UnsupportedMediaType")


def test_repeated_field_is_refused_when_strict(world: World) -> None:
    text = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"1","k":"2"}}'
    reply = world.post(f"{CONFIG_MAPS}?fieldValidation=Strict", text)
    assert reply.status == 400
    assert 'strict decoding error: duplicate field "data.k"' in reply.message
