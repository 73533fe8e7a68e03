// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "control/claim_desk.h"
#include "control/event_hub.h"
#include "control/nudges.h"
#include "control/publisher.h"

namespace loam::control {

// What waits in the memory of one server may wait for something that happens at another: a parked
// claim for a job, a node's command call for a cancellation, a watcher for an event. Each of these
// hints therefore goes to this server's own desks and, by the database, to all others. A lost hint
// costs the time until the desk looks for itself (at most 2 s), or until the node's next renewal.
class Peers {
 public:
  struct Desks {
    EventHub& events;
    ClaimDesk& claims;
    Publisher& publisher;
    Nudges& nudges;
  };
  Peers(db::Database& database, Desks desks);
  ~Peers() { stop(); }

  // Only to the others; the caller knows which desks of its own are concerned.
  void changed();
  // This lease of a node has changed under it.
  void nudge(const std::string& node, const std::string& job);
  // This node takes no more jobs.
  void dismiss(const std::string& node);
  // Nothing is heard any more once this returns.
  void stop();

 private:
  void hear(const std::string& message);

  db::Database& database_;
  Desks desks_;
};

}  // namespace loam::control
