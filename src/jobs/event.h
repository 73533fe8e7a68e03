// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "db/database.h"

namespace loam::jobs {

struct Event {
  std::int64_t seq = 0;
  std::int64_t at = 0;
  std::string owner;
  std::string job;   // empty if it is about a node
  std::string node;  // empty if none is involved
  std::string type;  // "job.submitted", "lease.expired", "checkpoint.committed", …
  Json data = Json::object();

  Json to_json() const;
};

// The next value of a named counter. The row stays locked until the transaction ends, so a reader
// that has seen n has seen everything up to n.
Result<std::int64_t> next_count(db::Session& session, std::string_view counter);

// Appends an event in the transaction of the change that it reports; `seq` is assigned here.
Status append_event(db::Session& session, const Event& event);

struct EventFilter {
  std::int64_t after = 0;
  std::size_t limit = 100;
  std::optional<std::string> job;
  std::optional<std::string> owner;  // only this owner's, and those about nodes
};
Result<std::vector<Event>> list_events(db::Session& session, const EventFilter& filter);
Result<std::int64_t> last_event(db::Session& session);

}  // namespace loam::jobs
