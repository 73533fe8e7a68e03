// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "base/json.h"
#include "base/result.h"
#include "base/units.h"
#include "io/file.h"

// JSON messages over one end of a SOCK_SEQPACKET socket pair. Nothing here waits.
namespace loam::agent {

inline constexpr std::size_t kMaxControlMessageBytes = 64 * kKiB;

Result<std::pair<io::Fd, io::Fd>> make_control_pair();

// Sends one message, with a descriptor if `passed_fd` is not -1. kResourceExhausted when the peer
// does not read, kUnavailable when it is gone, kTooLarge over kMaxControlMessageBytes.
Status send_control(int socket, const Json& message, int passed_fd = -1);

struct ControlMessage {
  enum class Kind { kNothing, kMessage, kClosed };
  Kind kind = Kind::kNothing;
  Json body;
  io::Fd passed;
};
// kNothing when no message is there now. kInvalidArgument for a message that is not JSON.
Result<ControlMessage> receive_control(int socket);

// False when more than half of what this end may have under way is unread. Messages that can wait
// are sent only if it is true, so that the last one, how the program ended, always finds room.
bool has_room_to_send(int socket);

}  // namespace loam::agent
