"""Certificates of the webhook server: made, read back, renewed in time."""

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509

from worker_agent.webhooks import certificates
from worker_agent.webhooks.certificates import Bundle, CertificateError

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
HOSTS = ("kueue-webhook-service.kueue-system.svc", "127.0.0.1")


def test_server_certificate_names_all_hosts_and_is_signed_by_the_ca():
    bundle = certificates.create(HOSTS, NOW)
    authority = x509.load_pem_x509_certificate(bundle.ca_certificate)
    server = x509.load_pem_x509_certificate(bundle.certificate)
    names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    server.verify_directly_issued_by(authority)
    assert authority.subject.rfc4514_string() == "CN=kueue-ca,O=kueue"
    assert names.get_values_for_type(x509.DNSName) == [HOSTS[0]]
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == [HOSTS[1]]


def test_bundle_survives_the_secret():
    bundle = certificates.create(HOSTS, NOW)
    assert Bundle.from_secret(bundle.secret_data()) == bundle


@pytest.mark.parametrize(
    ("data", "message"),
    [({}, "Secret has no ca.crt, ca.key, tls.crt, tls.key"), (dict.fromkeys(certificates.KEYS, "%%"), "not base64")],
    ids=["empty", "garbage"],
)
def test_unusable_secret_says_why(data, message):
    with pytest.raises(CertificateError, match=message):
        Bundle.from_secret(data)


def test_good_bundle_is_kept():
    bundle = certificates.create(HOSTS, NOW)
    assert certificates.renewed(bundle, HOSTS, NOW + timedelta(days=30)) is bundle


def test_new_host_gets_a_new_certificate_under_the_same_ca():
    bundle = certificates.create(HOSTS, NOW)
    wider = certificates.renewed(bundle, (*HOSTS, "example.org"), NOW)
    assert wider.ca_certificate == bundle.ca_certificate
    assert wider.certificate != bundle.certificate


SECOND = timedelta(seconds=1)


def after_next_step(bundle, *, later=SECOND):
    moment = certificates.renewal_time(bundle) + later
    return certificates.renewed(bundle, HOSTS, moment), moment


def test_next_ca_is_trusted_before_anything_is_signed_by_it():
    bundle = certificates.create(HOSTS, NOW)
    told, _ = after_next_step(bundle)
    assert told.ca_certificate == bundle.ca_certificate
    assert told.trusted == told.ca_certificate + told.following.certificate


def test_previous_ca_is_trusted_while_the_next_one_signs():
    bundle = certificates.create(HOSTS, NOW)
    told, _ = after_next_step(bundle)
    taken, _ = after_next_step(told)
    assert taken.ca_certificate == told.following.certificate
    assert taken.following is None
    assert taken.trusted == taken.ca_certificate + bundle.ca_certificate
    server, ca = (x509.load_pem_x509_certificate(pem) for pem in (taken.certificate, taken.ca_certificate))
    server.verify_directly_issued_by(ca)


def test_previous_ca_goes_an_overlap_after_the_change_however_late_that_came():
    told, _ = after_next_step(certificates.create(HOSTS, NOW))
    taken, moment = after_next_step(told, later=timedelta(days=9))
    assert certificates.renewed(taken, HOSTS, moment + SECOND) is taken
    alone, late = after_next_step(taken)
    assert alone.trusted == taken.ca_certificate
    assert certificates.renewed(alone, HOSTS, late) is alone


def test_steps_wait_for_the_overlap():
    told, moment = after_next_step(certificates.create(HOSTS, NOW))
    assert certificates.renewed(told, HOSTS, moment + timedelta(days=2)) is told


def test_expired_ca_is_replaced_at_once():
    bundle = certificates.create(HOSTS, NOW)
    assert certificates.renewed(bundle, HOSTS, NOW + timedelta(days=3651)).ca_certificate != bundle.ca_certificate


def test_every_step_survives_the_secret():
    told, _ = after_next_step(certificates.create(HOSTS, NOW))
    taken, _ = after_next_step(told)
    for bundle in (told, taken):
        assert Bundle.from_secret(bundle.secret_data()) == bundle


def test_private_keys_are_not_shown():
    told, _ = after_next_step(certificates.create(HOSTS, NOW))
    assert "PRIVATE" not in repr(told)


def test_key_of_another_ca_is_replaced():
    bundle = certificates.create(HOSTS, NOW)
    other = certificates.create(HOSTS, NOW)
    mixed = Bundle(bundle.ca_certificate, other.ca_key, bundle.certificate, bundle.key)
    assert certificates.renewed(mixed, HOSTS, NOW).ca_certificate != bundle.ca_certificate


DAMAGE = {
    "next-ca.crt": "next-ca.crt, next-ca.key",
    "next-ca.key": "next-ca.crt, next-ca.key",
    "previous-ca.crt": "previous-ca.crt",
    "tls.crt": "tls.crt, tls.key",
    "tls.key": "tls.crt, tls.key",
}


@pytest.mark.parametrize("garbage", ["%%", "Z2FyYmFnZQ=="], ids=["no base64", "no certificate"])
@pytest.mark.parametrize("name", DAMAGE)
def test_damage_beside_a_valid_ca_is_told_and_the_ca_goes_on_being_trusted(name, garbage):
    whole = certificates.create(HOSTS, NOW)
    told, _ = after_next_step(whole)
    stored = Bundle.from_secret(told.secret_data() | {name: garbage})
    assert set(DAMAGE[name].split(", ")) >= set(stored.damaged) >= {name}
    mended = certificates.renewed(stored, HOSTS, NOW)
    assert mended.trusted.startswith(whole.ca_certificate)
    assert Bundle.from_secret(mended.secret_data()).damaged == ()
    assert certificates.renewed(mended, HOSTS, NOW) is mended
