# SPDX-License-Identifier: Apache-2.0
"""`loam db dump` and `load`: a whole cluster moves between SQLite and PostgreSQL."""

import subprocess

from harness import LOAM, Fleet
from namespace import Tree
from programs import counter


def loam_db(verb, file, db):
    return subprocess.run([LOAM, "db", verb, file, "--db", db], capture_output=True, text=True,
                          timeout=120)


def test_p11_a_cluster_moves_to_postgres_and_back_unchanged(fleet, postgres, tmp_path):
    node = fleet.node("n")
    done = fleet.api.submit(counter(fleet, 3, 0.05, name="grün"))
    Tree(fleet.api).write(b"/moved/\xff", b"bytes")
    fleet.status(done, "completed")
    waiting = fleet.api.submit(fleet.job("true", pool="nobody", secrets=["KEY"], secret_values={"KEY": "s3cret"}))

    def facts(job):
        view = fleet.api.job(job)
        return {key: view.get(key) for key in ("id", "owner", "name", "pool", "status", "step",
                                               "created", "finished", "recovery_step")}
    seen = [facts(job) for job in (done, waiting)]
    node.stop()
    fleet.server.process.stop()
    sqlite = f"sqlite:{fleet.server.state}/loam.db"
    url = postgres.url(postgres.database())
    first, second, third = (str(tmp_path / name) for name in ("one", "two", "three"))

    assert loam_db("dump", first, sqlite).returncode == 0
    loaded = loam_db("load", first, url)
    assert loaded.returncode == 0, loaded.stderr
    assert loam_db("dump", second, url).returncode == 0
    with open(first, encoding="utf-8") as one, open(second, encoding="utf-8") as two:
        assert one.read() == two.read()
    again = loam_db("load", first, url)
    assert again.returncode != 0 and "in use" in again.stderr

    assert loam_db("load", second, f"sqlite:{tmp_path}/back.db").returncode == 0
    assert loam_db("dump", third, f"sqlite:{tmp_path}/back.db").returncode == 0
    with open(second, encoding="utf-8") as two, open(third, encoding="utf-8") as three:
        assert two.read() == three.read()

    # The server goes on with its state directory on the new database, secrets included.
    fleet.server.options += ["--db", url, "--store", fleet.server.state / "store"]
    fleet.server.start()
    assert [facts(job) for job in (done, waiting)] == seen
    assert Tree(fleet.api).read(b"/moved/\xff") == b"bytes"
    assert Tree(fleet.api).problems() == []
    taker = fleet.fake(pool="nobody")
    assert taker.try_claim(wait_ms=5000).expect(200)["secrets"] == {"KEY": "s3cret"}


def test_p12_a_dump_of_a_running_shared_cluster_takes_its_key_along(postgres, tmp_path):
    fleet = Fleet(db=postgres.url(postgres.database()))
    try:
        job = fleet.api.submit(fleet.job("true", secrets=["KEY"], secret_values={"KEY": "s3cret"}))
        url = fleet.server.options[fleet.server.options.index("--db") + 1]
        assert loam_db("dump", str(tmp_path / "dump"), url).returncode == 0
        fleet.server.process.stop()
        loaded = loam_db("load", str(tmp_path / "dump"), f"sqlite:{fleet.server.state}/loam.db")
        assert loaded.returncode == 0, loaded.stderr
        fleet.server.options = fleet.server.options[:-4]
        fleet.server.start()
        assert (fleet.server.state / "server.key").stat().st_mode & 0o777 == 0o600
        assert fleet.fake().claim().claimed["secrets"] == {"KEY": "s3cret"}
        assert fleet.api.job(job)["status"] == "running"
    finally:
        fleet.close()
