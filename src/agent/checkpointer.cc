// SPDX-License-Identifier: Apache-2.0
#include "agent/checkpointer.h"

#include <fmt/format.h>

#include "base/log.h"
#include "checkpoint/manifest.h"
#include "io/file.h"

namespace loam::agent {

namespace {
// Short, because a program may keep its newest checkpoint only, and not for long.
constexpr std::chrono::milliseconds kLookEvery{200};
constexpr int kStarvedAfter = 3;
}  // namespace

Result<std::unique_ptr<Checkpointer>> Checkpointer::start(const ServerApi& api, Lease& lease,
                                                          Timeline& timeline, const Clock& clock,
                                                          Random& random, Options options) {
  auto finder = TRY(checkpoint::UnitFinder::create(options.spec, clock, options.is_open));
  TRY_VOID(io::make_directories(options.staging));
  return std::unique_ptr<Checkpointer>(
      new Checkpointer(api, lease, timeline, random, std::move(options), std::move(finder)));
}

Checkpointer::Checkpointer(const ServerApi& api, Lease& lease, Timeline& timeline, Random& random,
                           Options options, checkpoint::UnitFinder finder)
    : api_(api),
      lease_(lease),
      timeline_(timeline),
      random_(random),
      options_(std::move(options)),
      finder_(std::move(finder)) {
  if (!options_.any_step) newest_taken_ = options_.from_step;
  looker_ = std::thread([this] { look_loop(); });
  uploader_ = std::thread([this] { upload_loop(); });
}

Checkpointer::~Checkpointer() {
  abandon_ = true;
  finish(nullptr);
}

bool Checkpointer::give_up() const {
  return abandon_.load() || lease_.lost();
}

void Checkpointer::look_loop() {
  while (true) {
    look();
    std::unique_lock lock(mutex_);
    if (wake_.wait_for(lock, kLookEvery, [this] { return stopping_; })) return;
  }
}

void Checkpointer::look() {
  const auto scan = finder_.scan(options_.directory);
  if (!scan) {
    LOG_WARN("cannot look for checkpoints of {}: {}", lease_.job(), scan.error().to_string());
    return;
  }
  if (scan->complete.empty()) return;
  const checkpoint::Unit& newest = scan->complete.back();
  {
    const std::lock_guard lock(mutex_);
    if (newest_taken_ && newest.step <= *newest_taken_) return;
  }
  auto snapshot = checkpoint::Snapshot::take(newest, options_.spec.unit,
                                             fmt::format("{}/{}", options_.staging, snapshots_++));
  if (!snapshot) {
    // Gone or still changing: the next look decides.
    LOG_DEBUG("no snapshot of {}: {}", newest.name, snapshot.error().to_string());
    return;
  }
  ++units_;
  lease_.set_written_step(newest.step);
  offer({std::move(*snapshot), timeline_.cut(lease_.slot())}, newest.step);
}

void Checkpointer::offer(Waiting waiting, std::int64_t step) {
  std::optional<Waiting> displaced;
  {
    const std::lock_guard lock(mutex_);
    newest_taken_ = step;
    if (waiting_) {
      displaced = std::move(waiting_);
      if (++skipped_in_a_row_ == kStarvedAfter) lease_.note_starved();
    }
    waiting_ = std::move(waiting);
  }
  wake_.notify_all();
  if (!displaced) return;
  LOG_INFO("{}: the checkpoint of step {} was skipped for a newer one", lease_.job(),
           displaced->snapshot.unit().step);
  if (const Status gone = displaced->snapshot.discard(); !gone) {
    LOG_WARN("{}", gone.error().to_string());
  }
}

void Checkpointer::upload_loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return waiting_ || looking_over_; });
    if (!waiting_) return;
    Waiting next = std::move(*waiting_);
    waiting_.reset();
    lock.unlock();
    const std::int64_t step = next.snapshot.unit().step;
    const Status status = upload(next);
    const Status gone = next.snapshot.discard();
    lock.lock();
    if (status) {
      newest_committed_ = step;
      skipped_in_a_row_ = 0;
      LOG_INFO("{}: committed the checkpoint of step {}", lease_.job(), step);
    } else {
      LOG_WARN("{}: the checkpoint of step {} was not committed: {}", lease_.job(), step,
               status.error().to_string());
    }
    if (!gone) LOG_WARN("{}", gone.error().to_string());
  }
}

Status Checkpointer::upload(Waiting& waiting) {
  if (give_up()) return fail(ErrorCode::kCanceled, "given up");
  const checkpoint::SetManifest manifest =
      TRY(waiting.snapshot.hash([this](std::int64_t) -> Status {
        return give_up() ? Status(fail(ErrorCode::kCanceled, "given up")) : Status();
      }));
  const std::string set = random_id(random_, "s-");
  std::vector<UploadFile> files;
  for (const checkpoint::ManifestFile& file : manifest.files) {
    files.push_back({.path = fmt::format("ckpt/{}-{}/{}", manifest.step, set, file.path),
                     .local = waiting.snapshot.path_of(file.path),
                     .size = file.size,
                     .crc = file.crc});
  }
  const Transfer transfer(api_, lease_, [this] { return give_up(); });
  const std::vector<std::string> etags = TRY(transfer.upload(files));
  TRY_VOID(waiting.snapshot.check_unchanged());
  const Json body{{"set", set},
                  {"step", manifest.step},
                  {"manifest", checkpoint::manifest_to_json(manifest)},
                  {"etags", etags},
                  {"covered_us", waiting.covered_us}};
  return transfer.insist([&]() -> Status {
    TRY(api_.post(fmt::format("/v1/node/jobs/{}/checkpoints", lease_.job()), body,
                  {.lease = lease_.header(), .deadline = std::chrono::minutes(5)}));
    return {};
  });
}

std::optional<std::int64_t> Checkpointer::finish(const std::function<bool()>& stop) {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (looker_.joinable()) {
    looker_.join();
    if (!give_up()) look();
  }
  {
    const std::lock_guard lock(mutex_);
    looking_over_ = true;
  }
  wake_.notify_all();
  if (!uploader_.joinable()) return newest_committed_;
  std::atomic<bool> done{false};
  std::thread watcher;
  if (stop) {
    watcher = std::thread([&] {
      while (!done && !abandon_) {
        if (stop()) abandon_ = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
    });
  }
  uploader_.join();
  done = true;
  if (watcher.joinable()) watcher.join();
  return newest_committed_;
}

}  // namespace loam::agent
