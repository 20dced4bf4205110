"""The ``tls`` stanza: what is served, and what cannot be."""

import ssl

import pytest

from worker_agent.app import configuration, tls
from worker_agent.app.configuration import ConfigurationError
from worker_agent.serving_settings import TransportSecurity
from worker_agent.settings import AgentSettings


def test_only_the_suites_named_are_spoken_below_tls_1_3():
    suites = ["TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"]
    context = tls.server_context(TransportSecurity(cipher_suites=suites, curve_preferences=[29]))
    older = [suite["name"] for suite in context.get_ciphers() if suite["protocol"] != "TLSv1.3"]
    assert older == ["ECDHE-RSA-AES256-GCM-SHA384"]


def test_every_suite_and_curve_of_the_table_can_be_served():
    for name in tls.CIPHER_SUITES:
        tls.server_context(TransportSecurity(cipher_suites=[name]))
    for number in tls.CURVES:
        tls.server_context(TransportSecurity(curve_preferences=[number]))


def test_tls_1_2_is_the_oldest_without_a_wish():
    assert tls.server_context(TransportSecurity()).minimum_version == ssl.TLSVersion.TLSv1_2


@pytest.mark.parametrize(
    ("stanza", "message"),
    [
        ({"cipher_suites": ["TLS_RSA_WITH_RC4_128_SHA"]}, "tls.cipherSuites: 'TLS_RSA_WITH_RC4_128_SHA': must be one"),
        ({"curve_preferences": [1]}, "tls.curvePreferences: 1: must be one of 23, 24, 25, 29"),
        ({"curve_preferences": [29, 23]}, r"tls.curvePreferences: \[29, 23\]: only one can be served"),
    ],
)
def test_what_cannot_be_served_is_named(stanza, message):
    with pytest.raises(ConfigurationError, match=message):
        configuration.resolve(AgentSettings(tls=stanza))
