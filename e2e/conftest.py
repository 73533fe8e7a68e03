# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the end-to-end tests: a fleet for each test, or one for a whole file."""

import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))

import ceph_s3  # noqa: E402  (the path above comes first)
from harness import LOAM, Fleet  # noqa: E402  (the path above comes first)
from postgres import Postgres, programs  # noqa: E402


def pytest_configure(config):
    del config
    if not os.access(LOAM, os.X_OK):
        raise pytest.UsageError(f"{LOAM} is not built; build it or set LOAM_BINARY")


@pytest.fixture
def fleet():
    made = Fleet()
    yield made
    made.close()


@pytest.fixture(scope="module")
def shared_fleet():
    made = Fleet()
    yield made
    made.close()


@pytest.fixture(scope="session")
def ceph():
    if ceph_s3.missing():
        pytest.skip(ceph_s3.missing())
    with ceph_s3.CephS3() as running:
        yield running


@pytest.fixture(scope="session")
def postgres():
    if not programs():
        pytest.skip("PostgreSQL is not installed")
    made = Postgres()
    yield made
    made.stop()


@pytest.fixture
def pair(postgres):
    """Two servers over one PostgreSQL database."""
    made = Fleet(db=postgres.url(postgres.database()), servers=2)
    yield made
    made.close()
