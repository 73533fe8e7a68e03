// SPDX-License-Identifier: Apache-2.0
#include "meta/schema.h"

#include <array>

namespace loam::meta {

namespace {

// The last numbers given out are in the one row of `namespace`. An inode's home is the dentry at
// which it is counted; further links of it are `extra`. The index over size classes (inode.h)
// serves find. A file's present extents are those of its inode's generation; `file_version` says
// which older ones are kept. An object's key is NULL unless it is a plain one (object_key.h).
constexpr std::string_view kVersion1 = R"sql(
CREATE TABLE namespace (
  id BIGINT PRIMARY KEY, inode BIGINT NOT NULL, dentry BIGINT NOT NULL, object BIGINT NOT NULL,
  change BIGINT NOT NULL, first_change BIGINT NOT NULL, conflicts BIGINT NOT NULL);
INSERT INTO namespace (id, inode, dentry, object, change, first_change, conflicts)
  VALUES (1, 1, 0, 0, 0, 1, 0);

CREATE TABLE inode (
  id INTEGER PRIMARY KEY, type BIGINT NOT NULL, mode BIGINT NOT NULL, uid BIGINT NOT NULL,
  gid BIGINT NOT NULL, nlink BIGINT NOT NULL, size BIGINT NOT NULL, size_class BIGINT NOT NULL,
  mtime_ns BIGINT NOT NULL, ctime_ns BIGINT NOT NULL, atime_ns BIGINT, generation BIGINT NOT NULL,
  home BIGINT NOT NULL);
INSERT INTO inode (id, type, mode, uid, gid, nlink, size, size_class, mtime_ns, ctime_ns,
  generation, home) VALUES (1, 2, 493, 0, 0, 2, 0, 0, 0, 0, 0, 0);
CREATE INDEX inode_find ON inode (size_class, mtime_ns, size) WHERE type = 1;
CREATE TABLE symlink (inode INTEGER PRIMARY KEY, target TEXT NOT NULL);
CREATE TABLE xattr (
  inode BIGINT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (inode, name))
  WITHOUT ROWID;

CREATE TABLE dentry (
  id INTEGER PRIMARY KEY, parent BIGINT NOT NULL, name TEXT NOT NULL, inode BIGINT NOT NULL,
  extra BIGINT NOT NULL);
CREATE UNIQUE INDEX dentry_name ON dentry (parent, name);
CREATE INDEX dentry_order ON dentry (parent, id);
CREATE INDEX dentry_extra ON dentry (inode) WHERE extra = 1;

CREATE TABLE extent (
  inode BIGINT NOT NULL, generation BIGINT NOT NULL, file_offset BIGINT NOT NULL,
  length BIGINT NOT NULL, object BIGINT NOT NULL, object_offset BIGINT NOT NULL,
  PRIMARY KEY (inode, generation, file_offset)) WITHOUT ROWID;
CREATE TABLE file_version (
  inode BIGINT NOT NULL, generation BIGINT NOT NULL, size BIGINT NOT NULL, mtime_ns BIGINT NOT NULL,
  keep_until_lc BIGINT, PRIMARY KEY (inode, generation)) WITHOUT ROWID;
CREATE INDEX file_version_keep ON file_version (keep_until_lc) WHERE keep_until_lc IS NOT NULL;
CREATE TABLE loss (
  id INTEGER PRIMARY KEY, inode BIGINT NOT NULL, generation BIGINT NOT NULL, restored BIGINT,
  bytes BIGINT NOT NULL, node TEXT NOT NULL, at_ns BIGINT NOT NULL);

CREATE TABLE object (
  number INTEGER PRIMARY KEY, nonce BIGINT NOT NULL, inode BIGINT NOT NULL, length BIGINT NOT NULL,
  state BIGINT NOT NULL, generation BIGINT NOT NULL, node TEXT, epoch BIGINT, keyed BIGINT NOT NULL,
  key TEXT, etag TEXT, crcs TEXT);
CREATE UNIQUE INDEX object_key ON object (key) WHERE key IS NOT NULL;
CREATE INDEX object_writing ON object (node, epoch) WHERE state = 1;
CREATE TABLE holder (
  object BIGINT NOT NULL, node TEXT NOT NULL, PRIMARY KEY (object, node)) WITHOUT ROWID;
CREATE INDEX holder_node ON holder (node, object);
CREATE TABLE retired (
  object INTEGER PRIMARY KEY, position BIGINT NOT NULL, retired_lc BIGINT NOT NULL);
CREATE TABLE orphan (
  inode INTEGER PRIMARY KEY, position BIGINT NOT NULL, orphaned_lc BIGINT NOT NULL);

CREATE TABLE usage (dir INTEGER PRIMARY KEY, bytes BIGINT NOT NULL, files BIGINT NOT NULL);
CREATE TABLE usage_delta (
  folding BIGINT NOT NULL, dir BIGINT NOT NULL, bytes BIGINT NOT NULL, files BIGINT NOT NULL,
  PRIMARY KEY (folding, dir)) WITHOUT ROWID;
CREATE TABLE policy (
  dir INTEGER PRIMARY KEY, durability BIGINT, sealed BIGINT NOT NULL, shared BIGINT NOT NULL);
CREATE TABLE quota (dir INTEGER PRIMARY KEY, max_bytes BIGINT, max_files BIGINT);

CREATE TABLE change (
  id INTEGER PRIMARY KEY, kind BIGINT NOT NULL, inode BIGINT NOT NULL, parent BIGINT NOT NULL,
  name TEXT NOT NULL);
CREATE TABLE node_session (
  node TEXT PRIMARY KEY, epoch BIGINT NOT NULL, ended BIGINT NOT NULL, expires_lc BIGINT NOT NULL,
  position BIGINT NOT NULL) WITHOUT ROWID;
CREATE TABLE hold (
  node TEXT NOT NULL, object BIGINT NOT NULL, PRIMARY KEY (node, object)) WITHOUT ROWID;
CREATE INDEX hold_object ON hold (object);
CREATE TABLE file_lock (
  inode BIGINT NOT NULL, kind BIGINT NOT NULL, node TEXT NOT NULL, owner BIGINT NOT NULL,
  first BIGINT NOT NULL, last BIGINT NOT NULL, exclusive BIGINT NOT NULL,
  PRIMARY KEY (inode, kind, node, owner, first)) WITHOUT ROWID;
CREATE INDEX file_lock_node ON file_lock (node);
CREATE TABLE file_handle (
  node TEXT NOT NULL, id BIGINT NOT NULL, inode BIGINT NOT NULL, generation BIGINT NOT NULL,
  flags BIGINT NOT NULL, PRIMARY KEY (node, id)) WITHOUT ROWID;
)sql";

constexpr std::array<db::Migration, 1> kMigrations{{{1, kVersion1}}};

}  // namespace

Status migrate_schema(db::Database& database) {
  return db::migrate(database, kMigrations, "meta_schema_version");
}

std::int64_t schema_version() {
  return kMigrations.back().version;
}

}  // namespace loam::meta
