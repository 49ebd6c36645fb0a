"""A certificate authority, and a certificate for servers on this machine, made with openssl."""

from __future__ import annotations

from pathlib import Path

from tests.servers.availability import run

DAYS = "30"
AUTHORITY = """\
[req]
distinguished_name = name
prompt = no
x509_extensions = extensions
[name]
CN = Test authority
[extensions]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
"""
SERVER_NAME = "/CN=Test server"
SERVER = """\
basicConstraints = CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth, clientAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
subjectAltName = DNS:localhost, IP:127.0.0.1
"""


def make_certificates(folder: Path) -> None:
    """Write ``ca.crt``, ``server.crt`` and ``server.key`` (PEM, P-256, 30 days) into `folder`.

    The authority's own key is removed: nothing else can be signed with it.

    Raises:
        ServerError: openssl is missing or fails.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ca.cnf").write_text(AUTHORITY, encoding="ascii")
    (folder / "server.cnf").write_text(SERVER, encoding="ascii")
    new_key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
    for line in (
        f"req -x509 -config ca.cnf {new_key} -keyout ca.key -out ca.crt -days {DAYS}",
        f"req -new -config ca.cnf {new_key} -keyout server.key -out server.csr",
        "x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial "
        f"-extfile server.cnf -out server.crt -days {DAYS}",
    ):
        arguments = [
            str(folder / word) if word.split(".")[0] in {"ca", "server"} else word
            for word in line.split()
        ]
        if "-new" in arguments:
            arguments += ["-subj", SERVER_NAME]
        run(["openssl", *arguments], 60, "no certificates could be made")
    for path in folder.iterdir():
        if path.name not in {"ca.crt", "server.crt", "server.key"}:
            path.unlink()
        else:
            # The server may run as somebody else; the folder it lies in is closed to others.
            path.chmod(0o644)
