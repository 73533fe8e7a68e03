// SPDX-License-Identifier: Apache-2.0
#include "control/log_tail.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/log.h"
#include "jobs/job_view.h"

namespace loam::control {

namespace {
constexpr std::chrono::milliseconds kInterval{300};
constexpr std::size_t kPage = 16;
// A comment line goes out every so often, so that proxies keep the connection of a silent program.
constexpr int kKeepAliveRounds = 50;
constexpr std::int64_t kMostChunkBytes = 1 << 20;

std::string frame(std::int64_t epoch, const jobs::LogChunk& chunk, const std::string& text) {
  const Json data{{"epoch", epoch},
                  {"seq", chunk.seq},
                  {"at", format_utc(chunk.at)},
                  {"gap", chunk.gap},
                  {"text", text}};
  return fmt::format("id: {}.{}\nevent: log\ndata: {}\n\n", epoch, chunk.seq, dump_json(data));
}
}  // namespace

std::string gap_marker(std::int64_t bytes) {
  return fmt::format("\n[loam: {} bytes of output were dropped here]\n", bytes);
}

Result<std::string> log_text(object::ObjectStore& store, const jobs::LogChunk& chunk) {
  const std::string text = TRY(object::get_bytes(store, chunk.key, kMostChunkBytes));
  return chunk.gap > 0 ? gap_marker(chunk.gap) + text : text;
}

LogTail::LogTail(const Services& services)
    : services_(services), thread_(kInterval, [this] { round(); }) {}

LogTail::~LogTail() {
  stop();
}

void LogTail::stop() {
  thread_.stop();
  const std::lock_guard lock(mutex_);
  for (Follower& follower : followers_)
    follower.stream->close();
  followers_.clear();
}

void LogTail::follow(Follower follower) {
  {
    const std::lock_guard lock(mutex_);
    followers_.push_back(std::move(follower));
  }
  poke();
}

void LogTail::round() {
  const std::lock_guard lock(mutex_);
  if (++rounds_ % kKeepAliveRounds == 0) keep_alive();
  std::erase_if(followers_, [this](Follower& follower) { return !serve(follower); });
}

void LogTail::keep_alive() {
  for (Follower& follower : followers_)
    follower.stream->send(": keep-alive\n\n");
}

Result<LogTail::View> LogTail::look(const Follower& follower) {
  return services_.read([&](db::Session& session) -> Result<View> {
    View view;
    const Json job = TRY(jobs::job_view(session, follower.job, std::nullopt, /*with_spec=*/false));
    view.job_status = TRY(json_string(job, "status"));
    view.latest_epoch = TRY(json_int(job, "epoch"));
    for (const Json& attempt : TRY(jobs::attempt_views(session, follower.job))) {
      if (TRY(json_int(attempt, "epoch")) == follower.epoch) {
        view.attempt_state = TRY(json_string(attempt, "state"));
      }
    }
    view.chunks =
        TRY(jobs::log_chunks(session, follower.job, follower.epoch, follower.next_seq, kPage));
    return view;
  });
}

bool LogTail::serve(Follower& follower) {
  while (follower.stream->open()) {
    const auto view = look(follower);
    if (!view) return view.error().code != ErrorCode::kNotFound;
    if (follower.epoch == 0) {
      if (view->latest_epoch == 0 && view->job_status == "pending") return true;
      follower.epoch = view->latest_epoch;
      if (follower.epoch > 0) continue;
    }
    for (const jobs::LogChunk& chunk : view->chunks) {
      if (!follower.stream->has_room()) return true;  // it goes on in the next round
      const auto text = log_text(services_.store, chunk);
      if (!text) {
        LOG_WARN("log chunk {} cannot be read: {}", chunk.key, text.error().to_string());
      }
      const std::string shown = text ? *text : gap_marker(chunk.bytes);
      if (!follower.stream->send(frame(follower.epoch, chunk, shown))) return false;
      follower.next_seq = chunk.seq + 1;
    }
    if (view->chunks.size() == kPage) continue;
    if (view->attempt_state == "running") return true;
    if (!follower.only_this && view->latest_epoch > follower.epoch) {
      ++follower.epoch;
      follower.next_seq = 0;
      continue;
    }
    const bool over = follower.only_this || view->job_status == "completed" ||
                      view->job_status == "failed" || view->job_status == "canceled";
    if (!over) return true;
    follower.stream->send(
        fmt::format("event: end\ndata: {}\n\n", dump_json({{"status", view->job_status}})));
    follower.stream->close();
    return false;
  }
  return false;
}

}  // namespace loam::control
