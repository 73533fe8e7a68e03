# SPDX-License-Identifier: Apache-2.0
"""A short `make soak`: two gigabytes by every way, within the memory that docs/STORES.md names."""

import re

import ceph_s3
import pytest
import soak
from harness import ROOT

pytestmark = pytest.mark.skipif(bool(ceph_s3.missing()), reason=ceph_s3.missing() or "-")


def test_two_gigabytes_within_the_memory_that_is_promised(ceph, monkeypatch):
    for name, value in ceph.environment.items():
        monkeypatch.setenv(name, value)
    peaks = soak.soak(ceph, 2 << 30)
    assert all(0 < peaks[kind] <= cap for kind, cap in soak.CAPS.items())


def test_a_cap_that_is_passed_fails_the_run(ceph, monkeypatch):
    for name, value in ceph.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setitem(soak.CAPS, "server", 1 << 20)
    with pytest.raises(AssertionError, match="server: .* over the cap of 1 MiB"):
        soak.soak(ceph, 1)


def test_the_caps_are_those_of_the_documentation():
    text = (ROOT / "docs" / "STORES.md").read_text()
    for kind, cap in soak.CAPS.items():
        assert re.search(rf"`{kind}` {cap >> 20} MiB", text), kind
