// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace loam::agent {

// A version 2 control group of one attempt below the agent's own. It makes killing atomic and knows
// about memory kills. Where groups cannot be made (no v2 hierarchy, not delegated, read-only) the
// object is inactive, every call does nothing, and killing by /proc alone has to do.
class AttemptCgroup {
 public:
  AttemptCgroup() = default;
  // `name` is one path segment, unique on this machine.
  static AttemptCgroup create(std::string_view name);
  // The group that another process made under this name; inactive when there is none.
  static AttemptCgroup find(std::string_view name);

  bool active() const { return !path_.empty(); }
  // Moves the calling process in. Failure leaves it where it is.
  void join() const;
  // SIGKILL to every member at once, also to those that are being forked.
  void kill_all() const;
  // Whether the kernel killed a member for want of memory; nothing when it cannot be known.
  std::optional<bool> oom_killed() const;
  // The group must be empty; a few milliseconds are spent waiting for that.
  void remove();

 private:
  explicit AttemptCgroup(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace loam::agent
