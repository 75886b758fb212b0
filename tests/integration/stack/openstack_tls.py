"""Certificates for the tests: an authority, a server certificate for `localhost`, one for a client,
and a second authority that signed neither."""
import datetime
import os

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def name(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def certificate(subject, key, issuer, issuer_key, is_authority, alternative_name=None):
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = (x509.CertificateBuilder().subject_name(name(subject)).issuer_name(name(issuer))
               .public_key(key.public_key()).serial_number(x509.random_serial_number())
               .not_valid_before(now - datetime.timedelta(days=1))
               .not_valid_after(now + datetime.timedelta(days=2))
               .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), True))
    if alternative_name:
        builder = builder.add_extension(
            x509.SubjectAlternativeName([x509.DNSName(alternative_name)]), False)
    return builder.sign(issuer_key, hashes.SHA256())


def write(directory, file, *parts):
    """Certificates and keys in one PEM file, readable by its owner only."""
    path = os.path.join(directory, file)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
        for part in parts:
            if isinstance(part, x509.Certificate):
                out.write(part.public_bytes(serialization.Encoding.PEM))
            else:
                out.write(part.private_bytes(serialization.Encoding.PEM,
                                             serialization.PrivateFormat.PKCS8,
                                             serialization.NoEncryption()))


def make_certificates(directory):
    def new_key():
        return ec.generate_private_key(ec.SECP256R1())
    authority, server, client, other = new_key(), new_key(), new_key(), new_key()
    write(directory, "ca.pem",
          certificate("Test authority", authority, "Test authority", authority, True))
    write(directory, "other-ca.pem", certificate("Other", other, "Other", other, True))
    write(directory, "server.pem", server,
          certificate("server", server, "Test authority", authority, False, "localhost"))
    write(directory, "client.pem", client,
          certificate("client", client, "Test authority", authority, False))
