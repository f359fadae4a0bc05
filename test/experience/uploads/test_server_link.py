# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Requests: trust, secrets, limits."""

from __future__ import annotations

import datetime
import ipaddress
import ssl

import httpx
import pytest

pytest.importorskip('uvicorn')
pytest.importorskip('fastapi')

from thinking_policy.experience.errors import ExperienceError
from thinking_policy.experience.link_options import LinkOptions
from thinking_policy.experience.server_link import ServerLink

SECRET = 'tp_0badcafe_donttellanyone'
ENVIRONMENT = {'THINKING_POLICY_TOKEN': SECRET}


@pytest.fixture(scope='module')
def certificate(tmp_path_factory):
    """Return a self-signed certificate for 127.0.0.1 with its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, 'test')])
    now = datetime.datetime.now(datetime.timezone.utc)
    day = datetime.timedelta(days=1)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address('127.0.0.1'))]),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp('tls') / 'certificate.pem'
    pem = serialization.Encoding.PEM
    path.write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + made.public_bytes(pem)
    )
    return path


@pytest.fixture
def https(scripted, certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return scripted(lambda _: (200, {}, b'hello'), context=context)


def test_a_certificate_that_nobody_vouches_for_is_refused_before_the_token_is_sent(https):
    link = ServerLink(LinkOptions(https.url), environment=ENVIRONMENT)
    with pytest.raises(httpx.ConnectError, match='certificate'):
        link.request('GET', 'v1/policy')
    assert https.heard == []


def test_a_certificate_of_ones_own_is_trusted_where_it_is_named(https, certificate):
    options = LinkOptions(https.url, ca_file=str(certificate))
    link = ServerLink(options, environment=ENVIRONMENT)
    assert link.request('GET', 'v1/policy').body == b'hello'
    link.disconnect()


@pytest.mark.parametrize('content', [None, 'no certificate'])
def test_certificates_that_cannot_be_read_are_named(tmp_path, content):
    path = tmp_path / 'ca.pem'
    if content:
        path.write_text(content)
    options = LinkOptions('https://127.0.0.1:9', ca_file=str(path))
    with pytest.raises(ExperienceError, match=r'ca\.pem: expected certificates as PEM'):
        ServerLink(options, environment=ENVIRONMENT).request('GET', 'v1/policy')


def test_an_answer_is_received_up_to_the_limit(scripted):
    server = scripted(lambda _: (200, {'ETag': '"x"'}, b'x' * 100_000))
    link = ServerLink(LinkOptions(server.url), environment=ENVIRONMENT)
    answer = link.request('GET', 'v1/policy', most_bytes=1000)
    assert (len(answer.body), answer.whole) == (1000, False)
    answer = link.request('GET', 'v1/policy', most_bytes=100_000)
    assert (len(answer.body), answer.whole) == (100_000, True)
    assert answer.headers['etag'] == '"x"'
    link.disconnect()


@pytest.mark.parametrize(
    ('url', 'said'),
    [
        ('fleet.example.org', 'expected http'),
        ('ftp://fleet.example.org', 'expected http'),
        ('https://', 'expected http'),
        ('https://fleet.example.org/?token=1', 'expected http'),
        ('https://fleet.example.org:notaport', 'expected http'),
        ('https://robot:hunter2@fleet.example.org', 'no name and password'),
        ('http://[::1', 'expected http'),
    ],
)
def test_a_url_that_is_none_is_refused(url, said):
    with pytest.raises(ExperienceError, match=said) as refused:
        LinkOptions(url)
    assert 'hunter2' not in str(refused.value)


@pytest.mark.parametrize(
    ('url', 'shows'),
    [
        ('', False),
        ('https://fleet.example.org', False),
        ('http://localhost:8321', False),
        ('http://127.0.0.1:8321', False),
        ('http://[::1]:8321', False),
        ('http://fleet.example.org', True),
    ],
)
def test_it_is_known_where_the_token_goes_in_the_clear(url, shows):
    assert LinkOptions(url).shows_token is shows


def test_no_secret_shows_in_errors_or_in_what_tells_configurations_apart(scripted, tmp_path):
    server = scripted(lambda _: (500, {}, b''))
    links = [
        ServerLink(LinkOptions('http://127.0.0.1:9'), environment=ENVIRONMENT),
        ServerLink(LinkOptions(server.url), environment={'THINKING_POLICY_TOKEN': f'{SECRET} x'}),
    ]
    for link in links:
        with pytest.raises((httpx.HTTPError, ExperienceError)) as refused:
            link.request('GET', 'v1/policy')
        assert SECRET not in str(refused.value)
        assert SECRET not in link.configuration()
        assert SECRET not in repr(link.options)


def test_a_changed_token_or_url_is_another_configuration():
    def configuration(url, token):
        return ServerLink(
            LinkOptions(url), environment={'THINKING_POLICY_TOKEN': token}
        ).configuration()

    made = {
        configuration(url, token)
        for url in ('http://a', 'http://b')
        for token in ('', 'one', 'two')
    }
    assert len(made) == 6
