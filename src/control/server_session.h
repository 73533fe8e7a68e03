// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "control/services.h"
#include "control/worker_thread.h"
#include "meta/node_session.h"

namespace loam::control {

// What this server itself holds in the namespace, under a name of its own and as a node holds it
// (meta/node_session.h): the objects that it is writing, and those that it is reading. The session
// begins when it is first needed and is renewed while the server runs. Any thread.
class ServerSession {
 public:
  ServerSession(const Services& services, std::string name);
  ~ServerSession() { stop(); }

  Result<meta::NodeRef> ref();
  // A call was refused with kLeaseLost: the next ref() is another one.
  void lost(const meta::NodeRef& ref);

  // Keeps objects from being deleted from the store, from the next renewal on (kRenewEvery) until
  // it ends. What is shorter than that is covered by the grace period of deletion.
  class Hold {
   public:
    Hold(ServerSession& session, std::vector<meta::ObjectId> objects);
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    ServerSession& session_;
    const std::vector<meta::ObjectId> objects_;
  };
  static constexpr std::chrono::milliseconds kRenewEvery{5'000};

  // Ends the session, so that nobody waits for its end.
  void stop();

 private:
  void renew();
  std::vector<meta::ObjectId> held();

  Services services_;
  const std::string name_;
  std::mutex mutex_;
  std::optional<meta::NodeRef> ref_;
  struct Held {
    meta::ObjectId object;
    int count = 0;
  };
  std::map<std::int64_t, Held> held_;  // by number
  WorkerThread thread_;
};

}  // namespace loam::control
