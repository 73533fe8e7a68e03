// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "loam/client.h"
#include "loam/sse.h"

namespace loam::cli {

enum class Next { kMore, kStop };

struct StreamOptions {
  std::string path;  // as for ApiClient
  // Sent as Last-Event-ID if not empty; from then on the id of the last event seen is.
  std::string last_id;
  // Reconnect if nothing came for this long: for streams that send keep-alive comments. 0: never.
  std::chrono::milliseconds stall_timeout{0};
  // Asked ten times a second; true ends the stream without an error.
  std::function<bool()> stop;
};

// Hands the events of a stream to `on_event` until that says kStop, reconnecting from the last one
// when the connection ends. kUnavailable once the server has not answered for two minutes, or for a
// few seconds at the start.
Status follow_stream(const ApiClient& client, const StreamOptions& options,
                     const std::function<Result<Next>(const SseEvent&)>& on_event);

}  // namespace loam::cli
