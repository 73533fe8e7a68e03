# SPDX-License-Identifier: Apache-2.0
"""An authority of one's own, made with openssl, and the certificates that it issues."""

import os
import pathlib
import subprocess


def openssl(*arguments):
    done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr


class Authority:
    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True)
        self.ca_file = self.directory / "ca.pem"
        self._serial = 1000
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-subj", "/CN=e2e authority", "-days", 1, "-keyout", self.directory / "ca.key",
                "-out", self.ca_file)

    def certificate(self, name):
        return self.directory / f"{name}.pem"

    def key(self, name):
        return self.directory / f"{name}.key"

    def issue(self, name, names="IP:127.0.0.1,DNS:localhost", expired=False):
        """Makes NAME.pem and NAME.key, or replaces both; returns the serial number."""
        self._serial += 1
        work = self.directory / f"{name}.new"
        key, request, extensions = (work.with_suffix(f".{kind}") for kind in ("k", "csr", "ext"))
        extensions.write_text(f"basicConstraints=CA:FALSE\nsubjectAltName={names}\n")
        openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-subj", "/CN=server", "-keyout", key, "-out", request)
        openssl("x509", "-req", "-in", request, "-CA", self.ca_file, "-CAkey",
                self.directory / "ca.key", "-set_serial", self._serial, "-days",
                -1 if expired else 1, "-extfile", extensions, "-out", work)
        os.chmod(key, 0o600)
        os.replace(key, self.key(name))
        os.replace(work, self.certificate(name))
        return self._serial
