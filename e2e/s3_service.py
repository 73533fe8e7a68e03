# SPDX-License-Identifier: Apache-2.0
"""What tests need of any S3 service: its address, its keys, and requests by other code than Loam's."""

import hashlib
import hmac
import time
import urllib.request
import uuid


class S3Service:
    def __init__(self, access_key, secret_key):
        self.access_key = access_key
        self.secret_key = secret_key
        self.endpoint = None  # once it has started
        self._buckets = 0

    @property
    def environment(self):
        return {"AWS_ENDPOINT_URL": self.endpoint, "AWS_ACCESS_KEY_ID": self.access_key,
                "AWS_SECRET_ACCESS_KEY": self.secret_key, "AWS_REGION": "us-east-1"}

    def url(self, bucket, **options):
        pairs = {"endpoint": self.endpoint, "region": "us-east-1", "path_style": "true", **options}
        return f"s3://{bucket}?" + "&".join(f"{k}={v}" for k, v in pairs.items())

    def bucket(self):
        """Makes a bucket and returns its name; each call gives a new one."""
        self._buckets += 1
        name = f"bucket-{self._buckets}-{uuid.uuid4().hex[:8]}"
        self.request("PUT", f"/{name}")
        return name

    def request(self, method, path, query="", body=b""):
        """One signed request, by code that shares nothing with what is tested."""
        now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        host, digest = self.endpoint.partition("://")[2], hashlib.sha256(body).hexdigest()
        names = "host;x-amz-content-sha256;x-amz-date"
        canonical = (f"{method}\n{path}\n{query}\nhost:{host}\nx-amz-content-sha256:{digest}\n"
                     f"x-amz-date:{now}\n\n{names}\n{digest}")
        scope = f"{now[:8]}/us-east-1/s3/aws4_request"
        text = f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
        key = f"AWS4{self.secret_key}".encode()
        for part in scope.split("/"):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
        request = urllib.request.Request(
            self.endpoint + path + (f"?{query}" if query else ""), data=body or None, method=method,
            headers={"x-amz-date": now, "x-amz-content-sha256": digest,
                     "Authorization": f"AWS4-HMAC-SHA256 Credential={self.access_key}/{scope}, "
                                      f"SignedHeaders={names}, Signature={signature}"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read()
