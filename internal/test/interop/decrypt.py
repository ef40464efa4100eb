"""Reads lines of {"private", "auth", "body"} (base64url) and writes, for each,
the message that PyPI's http_ece decrypts (base64url), or "error: ..."."""

import base64
import json
import sys

import http_ece
from cryptography.hazmat.primitives.asymmetric import ec


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


for line in sys.stdin:
    try:
        c = json.loads(line)
        private = ec.derive_private_key(int.from_bytes(decode(c["private"]), "big"), ec.SECP256R1())
        message = http_ece.decrypt(
            decode(c["body"]),
            private_key=private,
            auth_secret=decode(c["auth"]),
            version="aes128gcm",
        )
        print(base64.urlsafe_b64encode(message).rstrip(b"=").decode())
    except Exception as e:  # whatever it is, the test on the other end reports it
        print("error: %r" % e)
