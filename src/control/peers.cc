// SPDX-License-Identifier: Apache-2.0
#include "control/peers.h"

#include "base/json.h"
#include "base/log.h"

namespace loam::control {

Peers::Peers(db::Database& database, Desks desks) : database_(database), desks_(desks) {
  database_.on_broadcast([this](const std::string& message) { hear(message); });
}

void Peers::stop() {
  database_.on_broadcast({});
}

void Peers::changed() {
  database_.broadcast(dump_json({{"kind", "changed"}}));
}

void Peers::nudge(const std::string& node, const std::string& job) {
  desks_.nudges.nudge(node, job);
  database_.broadcast(dump_json({{"kind", "nudge"}, {"node", node}, {"job", job}}));
}

void Peers::dismiss(const std::string& node) {
  desks_.claims.dismiss(node);
  database_.broadcast(dump_json({{"kind", "dismiss"}, {"node", node}}));
}

void Peers::hear(const std::string& message) {
  const auto heard = [&]() -> Status {
    const Json hint = TRY(parse_json(message));
    const std::string kind = TRY(json_string(hint, "kind"));
    if (kind == "changed") {
      desks_.events.poke();
      desks_.claims.poke();
      desks_.publisher.poke();
    } else if (kind == "nudge") {
      desks_.nudges.nudge(TRY(json_string(hint, "node")), TRY(json_string(hint, "job")));
    } else if (kind == "dismiss") {
      desks_.claims.dismiss(TRY(json_string(hint, "node")));
    }
    return {};
  }();
  if (!heard) LOG_WARN("another server said what makes no sense: {}", heard.error().message);
}

}  // namespace loam::control
