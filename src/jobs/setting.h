// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "jobs/operation.h"

namespace loam::jobs {

// What all servers over one database must agree on, by name.
Result<std::optional<std::string>> setting(db::Session& session, const std::string& name);
Status set_setting(Operation& op, const std::string& name, const std::string& value);
Status remove_setting(Operation& op, const std::string& name);

}  // namespace loam::jobs
