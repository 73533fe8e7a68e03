// SPDX-License-Identifier: Apache-2.0
#include "loam/event_stream.h"

#include <algorithm>
#include <optional>

#include "loam/interrupt.h"

namespace loam::cli {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kFirstDelay{200};
constexpr milliseconds kMostDelay{5'000};
constexpr std::chrono::seconds kPatience{120};
constexpr std::chrono::seconds kPatienceAtStart{4};

class Follower {
 public:
  Follower(const ApiClient& client, const StreamOptions& options,
           const std::function<Result<Next>(const SseEvent&)>& on_event)
      : client_(client), options_(options), on_event_(on_event), last_id_(options.last_id) {}

  Status run() {
    milliseconds delay = kFirstDelay;
    Clock::time_point heard = Clock::now();
    while (true) {
      got_bytes_ = false;
      Status status = connect_once();
      if (ended_ || stopped()) return {};
      if (own_error_) return fail(*own_error_);
      if (got_bytes_ || status) {
        heard = Clock::now();
        ever_heard_ = true;
        delay = kFirstDelay;
      }
      if (!status && !is_retryable(status.error().code)) return status;
      const auto patience = ever_heard_ ? kPatience : kPatienceAtStart;
      if (!status && Clock::now() - heard > patience) return status;
      TRY_VOID(pause_for(delay));
      delay = std::min(delay * 2, kMostDelay);
    }
  }

 private:
  bool stopped() const { return options_.stop && options_.stop(); }

  Status connect_once() {
    SseParser parser;
    net::ClientRequest request;
    request.url = options_.path;
    request.headers.set("Accept", "text/event-stream");
    if (!last_id_.empty()) request.headers.set("Last-Event-ID", last_id_);
    request.deadline = milliseconds(0);
    request.stall_timeout = options_.stall_timeout;
    request.canceled = [this] { return interrupted() || stopped(); };
    request.sink = [&](std::span<const std::byte> bytes) {
      got_bytes_ = true;
      return parser.feed({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                         [this](const SseEvent& event) { return take(event); });
    };
    TRY(client_.send(std::move(request)));
    return {};
  }

  Status take(const SseEvent& event) {
    if (!event.id.empty()) last_id_ = event.id;
    const auto next = on_event_(event);
    if (!next) {
      own_error_ = next.error();
      return fail(next.error());
    }
    if (*next == Next::kMore) return {};
    ended_ = true;
    return fail(ErrorCode::kCanceled, "enough of the stream was read");
  }

  const ApiClient& client_;
  const StreamOptions& options_;
  const std::function<Result<Next>(const SseEvent&)>& on_event_;
  std::string last_id_;
  bool ended_ = false;
  bool got_bytes_ = false;
  bool ever_heard_ = false;
  std::optional<Error> own_error_;
};

}  // namespace

Status follow_stream(const ApiClient& client, const StreamOptions& options,
                     const std::function<Result<Next>(const SseEvent&)>& on_event) {
  return Follower(client, options, on_event).run();
}

}  // namespace loam::cli
