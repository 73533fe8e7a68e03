// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "control/services.h"
#include "jobs/attempt.h"
#include "jobs/job_spec.h"

namespace loam::control {

// What a node may touch in the store under one lease, as keys. Writing: below the lease's own
// prefix, in ckpt/ and out/. Reading: the job's declared inputs, its work directory and its own
// sets.

// The key for a write; kPermissionDenied for anything outside.
Result<std::string> writable_key(const jobs::Lease& lease, const std::string& path);

// The key for a read reference of the protocol ({"workdir"}, {"input", "path"} or {"set", "path"}).
Result<std::string> readable_key(db::Session& session, const jobs::Lease& lease,
                                 const jobs::JobSpec& spec, const Json& ref);

struct InputFile {
  std::string path;  // relative to the rule's `from`; empty if that is a single object
  std::int64_t size = 0;
  std::string etag;
};
struct InputPage {
  std::vector<InputFile> files;
  std::string next_after;  // empty at the end
  std::string next_token;  // goes with it
};
// Lists one declared input, page by page. An input that does not exist is kNotFound.
Result<InputPage> list_input(object::ObjectStore& store, const jobs::SyncRule& rule,
                             const std::string& after, const std::string& token);

}  // namespace loam::control
