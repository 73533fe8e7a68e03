# SPDX-License-Identifier: Apache-2.0
"""Prints requests that botocore signed, one JSON object a line, for sigv4_test.cc to sign again.

    python3 src/object/sigv4_vectors.py SEED COUNT

Bytes are base 64. The clock is botocore's own, moved to a time from the seed."""

import base64
import datetime
import functools
import json
import random
import sys
from urllib.parse import quote, unquote_to_bytes, urlsplit

import botocore.auth
import botocore.session
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials

PIECES = ["a", "B-9", "/", "//", ".", "..", "/./", "/../", "\n", "\t", "\x01", "\x7f", " ", "  ", "+",
          "%20", "%2F", "%", "&", "?", "#", "'", '"', "=", ";", ":", ",", "@", "!", "*", "(", ")", "$",
          "[", "]", "{", "}", "|", "\\", "^", "`", "<", ">", "~", "_", "é", "e\u0301", "名", "😀",
          "\u2028", "x" * 60]
OWN = {"host", "x-amz-date", "x-amz-content-sha256", "x-amz-security-token"}


class Captured(Exception):
    pass


def b64(data):
    return base64.b64encode(data if isinstance(data, bytes) else data.encode()).decode()


def odd_key(rng):
    if rng.random() < 0.04:
        return "k" * 1023 + rng.choice(["/", " ", "~"])
    text = "".join(rng.choice(PIECES) for _ in range(rng.randint(1, 9)))
    return rng.choice(["", "", "/"]) + text + rng.choice(["", "", "/", " "])


def vector(method, url, headers, keys, region, when, expected):
    """What the C++ side needs to sign the same request, and what must come out."""
    parts = urlsplit(url)
    query = [pair.partition("=")[::2] for pair in parts.query.split("&") if pair]
    return {
        "method": method, "host": parts.netloc, "path": b64(unquote_to_bytes(parts.path)),
        "encoded_path": parts.path,
        "query": [[b64(unquote_to_bytes(n)), b64(unquote_to_bytes(v))] for n, v in query],
        "headers": [[n, b64(v)] for n, v in headers],
        "id": keys.access_key, "secret": keys.secret_key, "token": keys.token or "",
        "region": region, "wall_ms": int(when.timestamp() * 1000), **expected}


def from_headers(method, url, headers, keys, region, when):
    authorization = headers["Authorization"]
    names = authorization.split("SignedHeaders=")[1].split(",")[0].split(";")
    mine = [(n, headers[n]) for n in names if n not in OWN]
    return vector(method, url, mine, keys, region, when,
                  {"payload_hash": headers["X-Amz-Content-SHA256"], "authorization": authorization})


def from_presigned(method, url, headers, keys, region, when):
    """`headers` are those that the user of the URL must send."""
    parts = urlsplit(url)
    pairs = [p for p in parts.query.split("&") if p]
    found = dict(p.partition("=")[::2] for p in pairs)
    rest = "&".join(p for p in pairs if not p.startswith("X-Amz-"))
    return vector(method, f"{parts.scheme}://{parts.netloc}{parts.path}?{rest}", headers, keys, region,
                  when, {"signature": found["X-Amz-Signature"], "valid_s": int(found["X-Amz-Expires"])})


def plain_text(value):
    return value if isinstance(value, str) else value.decode()


@functools.lru_cache
def client_of(session, region, endpoint, style):
    """Making a client takes longer than a hundred signatures; its keys are changed for each request."""
    caught = []

    def catch(request, **_):
        caught.append(request)
        raise Captured()

    client = session.create_client(
        "s3", region_name=region, aws_access_key_id="x", aws_secret_access_key="x", endpoint_url=endpoint,
        config=Config(signature_version="s3v4", s3={"addressing_style": style}))
    client.meta.events.register("before-send.s3", catch)
    return client, caught


def by_client(rng, session, keys, region, when):
    """A whole botocore client at work, its request caught just before it is sent."""
    scheme = rng.choice(["http", "https"])
    client, caught = client_of(session, region, f"{scheme}://s3.example.org{rng.choice(['', ':7480'])}",
                               rng.choice(["path", "virtual"]))
    client._request_signer._credentials = keys
    key = odd_key(rng)
    calls = [
        ("get_object", {"Key": key, "Range": "bytes=5-99", "IfMatch": '"abc"'}),
        ("head_object", {"Key": key}),
        ("delete_object", {"Key": key}),
        ("put_object", {"Key": key, "Body": rng.randbytes(rng.randint(0, 99)),
                        "Metadata": {"loam-put": "two  spaces "}}),
        ("upload_part", {"Key": key, "Body": b"p", "PartNumber": rng.randint(1, 10000),
                         "UploadId": odd_key(rng)}),
        ("create_multipart_upload", {"Key": key}),
        ("list_objects_v2", {"Prefix": odd_key(rng), "StartAfter": odd_key(rng), "Delimiter": "/"}),
        ("copy_object", {"Key": key, "CopySource": {"Bucket": "from", "Key": "a b/c"}}),
    ]
    name, arguments = rng.choice(calls)
    if rng.random() < 0.3 and name in ("get_object", "upload_part"):
        arguments.pop("Body", None)
        sent = {"Range": "range", "IfMatch": "if-match"}
        headers = [(sent[n], v) for n, v in arguments.items() if n in sent]
        url = client.generate_presigned_url(name, {"Bucket": "bucket", **arguments},
                                            ExpiresIn=rng.randint(1, 604800))
        return from_presigned("GET" if name == "get_object" else "PUT", url, headers, keys, region, when)
    try:
        getattr(client, name)(Bucket="bucket", **arguments)
    except Captured:
        pass
    request = caught.pop()
    headers = {n: plain_text(v) for n, v in request.headers.items()}
    lowered = {n.lower(): v for n, v in headers.items()}
    return from_headers(request.method, request.url,
                        {**lowered, "Authorization": lowered["authorization"],
                         "X-Amz-Content-SHA256": lowered["x-amz-content-sha256"]}, keys, region, when)


def by_signer(rng, keys, region, when):
    """Keys that are not UTF-8, which a client does not take: the signer alone."""
    key = bytes(rng.randrange(1, 256) for _ in range(rng.randint(1, 40)))
    url = "https://bucket.example.org/" + quote(key, safe="/~")
    method = rng.choice(["GET", "PUT", "HEAD", "DELETE"])
    if rng.random() < 0.5:
        request = AWSRequest(method, url, headers={"Range": "bytes=0-8388607"})
        botocore.auth.S3SigV4QueryAuth(keys, "s3", region, expires=900).add_auth(request)
        return from_presigned(method, request.url, [("range", "bytes=0-8388607")], keys, region, when)
    request = AWSRequest(method, url, data=b"body", headers={"X-Amz-Meta-A": " x   y "})
    botocore.auth.S3SigV4Auth(keys, "s3", region).add_auth(request)
    headers = {n.lower(): v for n, v in request.headers.items()}
    return from_headers(method, url, {**headers, "Authorization": headers["authorization"],
                                      "X-Amz-Content-SHA256": headers["x-amz-content-sha256"]},
                        keys, region, when)


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    rng = random.Random(seed)
    session = botocore.session.Session()
    for _ in range(count):
        when = datetime.datetime.fromtimestamp(rng.randrange(10**9, 4 * 10**9), datetime.timezone.utc)

        class Fixed(datetime.datetime):
            @classmethod
            def utcnow(cls, at=when):
                return at.replace(tzinfo=None)

        botocore.auth.datetime.datetime = Fixed
        keys = Credentials(f"AKIA{rng.randrange(10**9)}", f"s+/{rng.randrange(10**18)}",
                           rng.choice([None, "token/+==" + "t" * rng.randint(0, 600)]))
        region = rng.choice(["us-east-1", "eu-central-1", "auto"])
        made = (by_client(rng, session, keys, region, when) if rng.random() < 0.75
                else by_signer(rng, keys, region, when))
        print(json.dumps(made))


if __name__ == "__main__":
    main()
