// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "meta/inode.h"
#include "meta/operation.h"
#include "meta/usage.h"

namespace loam::meta {

// What close waits for. Stored as these numbers.
enum class Durability : std::int64_t {
  kLocal = 1,       // the node's own drive
  kReplicated = 2,  // the drives of two nodes
  kStored = 3,      // the store
};

// What may lie below a directory at most, as disk_usage() counts; nothing: no limit.
struct Quota {
  std::int64_t directory = 0;
  std::optional<std::int64_t> max_bytes;
  std::optional<std::int64_t> max_files;
};

// What a directory's own settings and those of the directories above it make of it: durability is
// the nearest one's, sealed and shared hold for all below, and every quota counts.
struct Policies {
  Durability durability = Durability::kLocal;
  bool sealed = false;  // nothing below may change
  bool shared = false;  // locks revalidate and commit: files are written from several nodes
  std::vector<Quota> quotas;
};
Result<Policies> get_policies(db::Session& session, std::int64_t directory);

// Sets a directory's own; nothing removes it, so that the one above holds again.
Status set_durability(Operation& op, std::int64_t directory, std::optional<Durability> durability);
Status set_sealed(Operation& op, std::int64_t directory, bool sealed);
Status set_shared(Operation& op, std::int64_t directory, bool shared);
// A quota below what is there already stops growth and removes nothing. 0 and up.
Status set_quota(Operation& op, const Quota& quota);
Result<std::optional<Quota>> get_quota(db::Session& session, std::int64_t directory);
// Removes the settings of a directory that is removed itself.
Status drop_policies(Operation& op, std::int64_t directory);

// A directory in which entries may change: kReadOnly if it is sealed.
struct WritableDirectory {
  Attributes attributes;
  Policies policies;
};
Result<WritableDirectory> get_writable_directory(db::Session& session, std::int64_t directory);

// kQuotaExceeded if something below these policies may not grow by so much. Exact: where deltas
// that are not folded yet could matter, they are folded first.
Status admit_growth(Operation& op, const Policies& policies, const Usage& growth);
// The quotas of `to` that do not hold at `from`: what a move between the two has to fit into.
Policies entered_policies(const Policies& from, const Policies& to);

}  // namespace loam::meta
