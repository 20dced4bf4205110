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


def test_both_are_made_anew_before_the_ca_expires():
    bundle = certificates.create(HOSTS, NOW)
    late = certificates.renewal_time(bundle) + timedelta(seconds=1)
    assert certificates.renewed(bundle, HOSTS, late).ca_certificate != bundle.ca_certificate


def test_key_of_another_ca_is_replaced():
    bundle = certificates.create(HOSTS, NOW)
    other = certificates.create(HOSTS, NOW)
    mixed = Bundle(bundle.ca_certificate, other.ca_key, bundle.certificate, bundle.key)
    assert certificates.renewed(mixed, HOSTS, NOW).ca_certificate != bundle.ca_certificate
