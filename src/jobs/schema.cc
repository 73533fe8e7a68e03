// SPDX-License-Identifier: Apache-2.0
#include "jobs/schema.h"

#include <array>

namespace loam::jobs {

namespace {

constexpr std::string_view kVersion1 = R"sql(
CREATE TABLE lease_clock (id BIGINT PRIMARY KEY, ms BIGINT NOT NULL);
INSERT INTO lease_clock (id, ms) VALUES (1, 0);
CREATE TABLE counter (name TEXT PRIMARY KEY, value BIGINT NOT NULL);
INSERT INTO counter (name, value) VALUES ('event', 0), ('job', 0), ('node', 0);

CREATE TABLE token (
  hash TEXT PRIMARY KEY, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, owner TEXT NOT NULL,
  pool TEXT NOT NULL, node_id TEXT NOT NULL, grants TEXT NOT NULL, created_at BIGINT NOT NULL,
  revoked BIGINT NOT NULL);

CREATE TABLE node (
  id TEXT PRIMARY KEY, seq BIGINT NOT NULL UNIQUE, name TEXT NOT NULL, pool TEXT NOT NULL,
  machine_id TEXT NOT NULL, state TEXT NOT NULL, slots BIGINT NOT NULL, gpus TEXT NOT NULL,
  gpu_count BIGINT NOT NULL, gpu_class TEXT NOT NULL, vram_gb DOUBLE PRECISION NOT NULL,
  price_uusd_hour BIGINT NOT NULL, version TEXT NOT NULL, ttl_ms BIGINT NOT NULL,
  registered_at BIGINT NOT NULL, registered_lc BIGINT NOT NULL, contact_at BIGINT NOT NULL,
  contact_lc BIGINT NOT NULL, contact_us BIGINT NOT NULL, ended_at BIGINT, paid_us BIGINT,
  draining BIGINT NOT NULL DEFAULT 0);
CREATE INDEX node_live ON node (state, contact_lc);

CREATE TABLE shape (id BIGINT PRIMARY KEY, requirement TEXT NOT NULL UNIQUE);

CREATE TABLE job (
  id TEXT PRIMARY KEY, seq BIGINT NOT NULL UNIQUE, owner TEXT NOT NULL, name TEXT NOT NULL,
  pool TEXT NOT NULL, spec TEXT NOT NULL, shape BIGINT NOT NULL, status TEXT NOT NULL,
  phase TEXT NOT NULL, reason TEXT NOT NULL, message TEXT NOT NULL, priority BIGINT NOT NULL,
  created_at BIGINT NOT NULL, started_at BIGINT, finished_at BIGINT, epoch BIGINT NOT NULL,
  num_failures BIGINT NOT NULL, num_platform_failures BIGINT NOT NULL,
  num_interruptions BIGINT NOT NULL, max_failures BIGINT NOT NULL, step BIGINT,
  committed_step BIGINT, save_cost_us BIGINT);
CREATE INDEX job_by_status ON job (status, seq);
CREATE INDEX job_by_owner ON job (owner, seq);

CREATE TABLE queue (
  job_id TEXT PRIMARY KEY, owner TEXT NOT NULL, shape BIGINT NOT NULL, ready BIGINT NOT NULL,
  class BIGINT NOT NULL, priority BIGINT NOT NULL, seq BIGINT NOT NULL, not_before_lc BIGINT NOT NULL);
CREATE INDEX queue_pick ON queue (shape, owner, ready, class, priority DESC, seq);
CREATE INDEX queue_due ON queue (ready, not_before_lc);
CREATE TABLE lane (
  shape BIGINT NOT NULL, owner TEXT NOT NULL, waiting BIGINT NOT NULL, PRIMARY KEY (shape, owner));
CREATE TABLE owner_load (owner TEXT PRIMARY KEY, running BIGINT NOT NULL);
CREATE TABLE ban (job_id TEXT NOT NULL, node_id TEXT NOT NULL, PRIMARY KEY (job_id, node_id));

CREATE TABLE lease (
  job_id TEXT PRIMARY KEY, epoch BIGINT NOT NULL, token_hash TEXT NOT NULL, node_id TEXT NOT NULL,
  slot BIGINT NOT NULL, claim TEXT NOT NULL, state TEXT NOT NULL, expires_lc BIGINT NOT NULL,
  ttl_ms BIGINT NOT NULL, extended BIGINT NOT NULL);
CREATE INDEX lease_expiry ON lease (state, expires_lc);
CREATE INDEX lease_by_node ON lease (node_id, slot);

CREATE TABLE attempt (
  job_id TEXT NOT NULL, epoch BIGINT NOT NULL, node_id TEXT NOT NULL, slot BIGINT NOT NULL,
  prefix TEXT NOT NULL, state TEXT NOT NULL, cause TEXT NOT NULL, exit_code BIGINT, signal BIGINT,
  message TEXT NOT NULL, started_at BIGINT NOT NULL, started_lc BIGINT NOT NULL, ended_at BIGINT,
  ended_lc BIGINT, contact_lc BIGINT NOT NULL, resumed_step BIGINT, resumed_set TEXT, step BIGINT,
  first_step_lc BIGINT, covered_us BIGINT NOT NULL, token_hash TEXT NOT NULL,
  swept BIGINT NOT NULL,
  PRIMARY KEY (job_id, epoch));
CREATE INDEX attempt_unswept ON attempt (swept, ended_lc);
CREATE INDEX attempt_by_node ON attempt (node_id, state);

CREATE TABLE exposure (
  pool TEXT PRIMARY KEY, running_ms BIGINT NOT NULL, interruptions BIGINT NOT NULL);

CREATE TABLE heartbeat_minute (
  job_id TEXT NOT NULL, epoch BIGINT NOT NULL, minute BIGINT NOT NULL, beats BIGINT NOT NULL,
  PRIMARY KEY (job_id, epoch, minute));

CREATE TABLE event (
  seq BIGINT PRIMARY KEY, at BIGINT NOT NULL, owner TEXT NOT NULL, job_id TEXT NOT NULL,
  node_id TEXT NOT NULL, type TEXT NOT NULL, data TEXT NOT NULL);
CREATE INDEX event_by_job ON event (job_id, seq);

CREATE TABLE checkpoint_set (
  id TEXT PRIMARY KEY, job_id TEXT NOT NULL, epoch BIGINT NOT NULL, step BIGINT NOT NULL,
  unit TEXT NOT NULL, prefix TEXT NOT NULL, bytes BIGINT NOT NULL, files BIGINT NOT NULL,
  state TEXT NOT NULL, pinned BIGINT NOT NULL, load_failures BIGINT NOT NULL, message TEXT NOT NULL,
  manifest TEXT NOT NULL, committed_at BIGINT NOT NULL);
CREATE INDEX checkpoint_by_job ON checkpoint_set (job_id, state, step);
CREATE INDEX checkpoint_by_state ON checkpoint_set (state);

CREATE TABLE output_file (
  job_id TEXT NOT NULL, idx BIGINT NOT NULL, epoch BIGINT NOT NULL, source TEXT NOT NULL,
  destination TEXT NOT NULL, bytes BIGINT NOT NULL, etag TEXT NOT NULL, done BIGINT NOT NULL,
  PRIMARY KEY (job_id, idx));

CREATE TABLE log_chunk (
  job_id TEXT NOT NULL, epoch BIGINT NOT NULL, seq BIGINT NOT NULL, key TEXT NOT NULL,
  start BIGINT NOT NULL, bytes BIGINT NOT NULL, gap BIGINT NOT NULL, at BIGINT NOT NULL,
  last BIGINT NOT NULL, PRIMARY KEY (job_id, epoch, seq));

CREATE TABLE segment (
  node_id TEXT NOT NULL, slot BIGINT NOT NULL, start_us BIGINT NOT NULL, end_us BIGINT NOT NULL,
  class TEXT NOT NULL, job_id TEXT NOT NULL, epoch BIGINT NOT NULL, step_from BIGINT, step_to BIGINT,
  data_wait_us BIGINT NOT NULL, checkpoint_us BIGINT NOT NULL, steps TEXT NOT NULL,
  PRIMARY KEY (node_id, slot, start_us));
CREATE INDEX segment_by_job ON segment (job_id, epoch, class);

CREATE TABLE idempotency (
  owner TEXT NOT NULL, route TEXT NOT NULL, key TEXT NOT NULL, body_sha256 TEXT NOT NULL,
  answer TEXT NOT NULL, created_lc BIGINT NOT NULL, PRIMARY KEY (owner, route, key));
CREATE INDEX idempotency_age ON idempotency (created_lc);

CREATE TABLE workdir (
  id TEXT PRIMARY KEY, manifest TEXT NOT NULL, bytes BIGINT NOT NULL, created_at BIGINT NOT NULL);
CREATE TABLE workdir_grant (
  workdir_id TEXT NOT NULL, owner TEXT NOT NULL, PRIMARY KEY (workdir_id, owner));

CREATE TABLE secret (
  job_id TEXT NOT NULL, name TEXT NOT NULL, sealed TEXT NOT NULL, PRIMARY KEY (job_id, name));
)sql";

// gpu_busy_us is NULL where no GPU was measured.
constexpr std::string_view kVersion2 = R"sql(
ALTER TABLE segment ADD COLUMN gpu_busy_us BIGINT;
CREATE INDEX job_waiting ON job (shape, phase) WHERE status = 'pending';
)sql";

// What several servers over one database have to agree on.
constexpr std::string_view kVersion3 = R"sql(
CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE duty (name TEXT PRIMARY KEY, holder TEXT NOT NULL, until_lc BIGINT NOT NULL);
)sql";

constexpr std::array<db::Migration, 3> kMigrations{
    {{1, kVersion1}, {2, kVersion2}, {3, kVersion3}}};

}  // namespace

Status migrate_schema(db::Database& database) {
  return db::migrate(database, kMigrations);
}

std::int64_t schema_version() {
  return kMigrations.back().version;
}

}  // namespace loam::jobs
