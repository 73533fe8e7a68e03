// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "base/json.h"
#include "loam/table.h"

namespace loam::cli {

// The name by which people know a node, from its id.
using NodeNamer = std::function<std::string(const std::string& id)>;

// What an event of the API says, as one line: "attempt 2 starts on gpu-7". Unknown types show their
// data.
std::string event_text(const Json& event, const NodeNamer& node_name);
Style event_style(const Json& event);

// "15:30:00  text", styled.
std::string event_line(const Json& event, const NodeNamer& node_name, bool colour);

}  // namespace loam::cli
