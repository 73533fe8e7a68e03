// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jobs/exposure.h"
#include "jobs/job_spec.h"
#include "jobs/operation.h"

namespace loam::jobs {

struct ClaimRequest {
  std::string node;
  std::int64_t slot = 0;
  // Chosen at random by the node for each new try; the same value gives the same lease again, so
  // that an answer lost on the way costs nothing. The lease's token is derived from it by the
  // caller.
  std::string claim;
  std::string
      token;  // 128 random bits in hex; becomes the lease's token unless the claim is a repeat
};

// A set that an attempt may resume from.
struct ResumeCandidate {
  std::string set;
  std::int64_t step = 0;
  std::string manifest;  // JSON
  std::string prefix;    // where its files lie in the store
};

struct Claimed {
  std::string job;
  std::int64_t epoch = 0;
  std::string owner;
  std::string spec;  // JSON
  JobSpec parsed;
  std::map<std::string, std::string> sealed_secrets;
  std::vector<ResumeCandidate> candidates;  // the one to try first is first
  SaveFigures figures;
};

// Hands at most one job to a slot of a node, as one transaction: interrupted jobs first, then by
// priority; among equals the owner with the fewest running attempts, then age. A job that this node
// cannot run, or has failed, blocks nobody. Nothing if there is none. kConflict if the slot is
// taken or the node is draining.
Result<std::optional<Claimed>> claim_job(Operation& op, const ClaimRequest& request);

}  // namespace loam::jobs
