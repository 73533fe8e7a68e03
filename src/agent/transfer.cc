// SPDX-License-Identifier: Apache-2.0
#include "agent/transfer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "base/digest.h"
#include "base/fail_point.h"
#include "base/log.h"
#include "base/parallel.h"
#include "io/crc32c.h"
#include "io/file.h"

namespace loam::agent {

namespace {

constexpr std::size_t kTransfers = 8;
constexpr std::chrono::milliseconds kSlowestBackOff{5'000};
// Of a download that began, and brought nothing that was not known.
constexpr int kTriesInVain = 8;
// No whole-file deadline shorter than this; beyond it a megabyte a second is expected.
constexpr std::chrono::milliseconds kShortestDeadline{60'000};

std::chrono::milliseconds deadline_for(std::int64_t bytes) {
  return kShortestDeadline + std::chrono::milliseconds(bytes / 1'000);
}

}  // namespace

Transfer::Transfer(const ServerApi& api, const Lease& lease, std::function<bool()> give_up)
    : api_(api), lease_(lease), give_up_(std::move(give_up)) {}

ServerApi::CallOptions Transfer::options(std::chrono::milliseconds deadline) const {
  return {.lease = lease_.header(), .deadline = deadline, .canceled = [this] {
            return !lease_.may_publish() || give_up_();
          }};
}

Status Transfer::insist(const std::function<Status()>& call) const {
  std::chrono::milliseconds back_off{100};
  while (true) {
    if (!lease_.wait_until_may_publish(give_up_)) {
      if (lease_.lost()) return fail(ErrorCode::kLeaseLost, "the lease is lost");
      return fail(ErrorCode::kCanceled, "given up");
    }
    const Status status = call();
    if (status) return {};
    const ErrorCode code = status.error().code;
    const bool passing = is_retryable(code) || code == ErrorCode::kCanceled ||
                         code == ErrorCode::kDataCorrupt || code == ErrorCode::kUnprocessable ||
                         code == ErrorCode::kInternal;
    // An expired lease answers kConflict until it is renewed, which the lease's own thread does.
    if (!passing && !(code == ErrorCode::kConflict && !lease_.may_publish())) return status;
    if (give_up_()) return status;
    LOG_WARN("will try again: {}", status.error().to_string());
    std::this_thread::sleep_for(back_off);
    back_off = std::min(back_off * 2, kSlowestBackOff);
  }
}

Result<Transfer::Granted> Transfer::grant(const char* kind, const Json& wanted) const {
  const Json answer = TRY(api_.post(fmt::format("/v1/node/jobs/{}/grants", lease_.job()),
                                    {{kind, Json::array({wanted})}}, options(kShortestDeadline)));
  const Json list = answer.value(kind, Json());
  if (!list.is_array() || list.size() != 1) {
    return fail(ErrorCode::kInternal, "the server granted something else than was asked for");
  }
  const Json& one = list[0];
  if (one.contains("upload")) {
    Granted out{.upload = TRY(json_string(one, "upload")),
                .part_bytes = TRY(json_int(one, "part_bytes"))};
    if (out.part_bytes > 0) return out;
    return fail(ErrorCode::kInternal, "the server granted parts of no bytes");
  }
  Granted out{.url = TRY(json_string(one, "url"))};
  const Json headers = one.value("headers", Json::object());
  for (const auto& [name, value] : headers.items()) {
    if (value.is_string()) out.headers.add(name, value.get<std::string>());
  }
  return out;
}

Result<std::string> Transfer::put_piece(const Granted& to, int fd, Piece piece,
                                        const std::string& crc32c) const {
  ServerApi::Upload upload{.url = to.url, .headers = to.headers, .length = piece.length};
  if (!crc32c.empty()) upload.headers.set("Loam-Crc32c", crc32c);
  std::int64_t sent = 0;
  upload.source = [&](std::span<std::byte> out) -> Result<std::size_t> {
    const auto left = static_cast<std::size_t>(piece.length - sent);
    const std::size_t n =
        TRY(io::read_at(fd, out.first(std::min(out.size(), left)), piece.offset + sent));
    sent += static_cast<std::int64_t>(n);
    crash_point_bytes(static_cast<std::int64_t>(n));
    return n;
  };
  return api_.put(std::move(upload), options(deadline_for(piece.length)));
}

Result<std::string> Transfer::put_one(const UploadFile& file) const {
  const Granted granted = TRY(grant("put", {{"path", file.path}, {"size", file.size}}));
  if (!granted.upload.empty()) return put_parts(file, granted);
  const io::Fd fd = TRY(io::open_file(file.local, O_RDONLY | O_CLOEXEC));
  // Only the server knows this header; the request to a store is signed without it.
  std::string crc;
  if (granted.url.starts_with('/') && (!file.crc.empty() || file.size == 0)) {
    const auto blocks = TRY(io::parse_checksums(file.crc));
    crc = fmt::format("{:08x}", io::crc32c_of_blocks(blocks, file.size));
  }
  return put_piece(granted, fd.get(), {.length = file.size}, crc);
}

Result<std::string> Transfer::put_parts(const UploadFile& file, const Granted& upload) const {
  const io::Fd fd = TRY(io::open_file(file.local, O_RDONLY | O_CLOEXEC));
  const auto count =
      static_cast<std::size_t>((file.size + upload.part_bytes - 1) / upload.part_bytes);
  Json parts = Json::array();
  parts.get_ref<Json::array_t&>().resize(count);
  TRY_VOID(run_parallel(count, kTransfers, [&](std::size_t i) {
    const std::int64_t offset = static_cast<std::int64_t>(i) * upload.part_bytes;
    const Piece piece{offset, std::min(upload.part_bytes, file.size - offset)};
    return insist([&]() -> Status {
      const Granted to = TRY(grant("part", {{"path", file.path},
                                            {"upload", upload.upload},
                                            {"part", i + 1},
                                            {"length", piece.length}}));
      const std::string etag = TRY(put_piece(to, fd.get(), piece, ""));
      parts[i] = {{"etag", etag}, {"size", piece.length}};
      return {};
    });
  }));
  Json stored;
  TRY_VOID(insist([&]() -> Status {
    stored = TRY(api_.post(fmt::format("/v1/node/jobs/{}/uploads", lease_.job()),
                           {{"path", file.path}, {"upload", upload.upload}, {"parts", parts}},
                           options(deadline_for(file.size))));
    return {};
  }));
  return json_string(stored, "etag");
}

Result<std::vector<std::string>> Transfer::upload(const std::vector<UploadFile>& files) const {
  std::vector<std::string> etags(files.size());
  TRY_VOID(run_parallel(files.size(), kTransfers, [&](std::size_t i) {
    return insist([&]() -> Status {
      auto etag = put_one(files[i]);
      // An upload that is gone is begun anew.
      if (!etag && etag.error().code == ErrorCode::kNotFound) {
        return fail(ErrorCode::kUnavailable, etag.error().message);
      }
      etags[i] = TRY(std::move(etag));
      return {};
    });
  }));
  return etags;
}

Status Transfer::get_one(const DownloadFile& file) const {
  const Granted granted = TRY(grant("get", file.ref));
  const std::string temporary = file.local + ".loam-tmp";
  Sha256 hash;
  std::int64_t size = 0;
  {
    const io::Fd fd =
        TRY(io::open_file(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, file.mode));
    TRY_VOID(api_.download({.url = granted.url,
                            .headers = granted.headers,
                            .sink = [&](std::span<const std::byte> bytes) -> Status {
                              hash.update(bytes);
                              size += std::ssize(bytes);
                              return io::write_all(fd.get(), bytes);
                            }},
                           options(deadline_for(file.size))));
    if (fchmod(fd.get(), file.mode) != 0) return fail(io::error_from_errno(errno, "chmod"));
  }
  if (size != file.size || (!file.sha256.empty() && hash.finish_hex() != file.sha256)) {
    return fail(ErrorCode::kDataCorrupt,
                fmt::format("{} arrived with other bytes than announced", file.local));
  }
  if (rename(temporary.c_str(), file.local.c_str()) != 0) {
    return fail(io::error_from_errno(errno, "rename " + temporary));
  }
  return {};
}

Status Transfer::download(const std::vector<DownloadFile>& files) const {
  return run_parallel(files.size(), kTransfers,
                      [&](std::size_t i) { return insist([&] { return get_one(files[i]); }); });
}

Status Transfer::fetch(const Json& ref, std::int64_t size,
                       const std::function<Status(std::span<const std::byte>)>& sink) const {
  std::int64_t taken = 0;      // bytes that the sink has
  std::optional<Error> fatal;  // no repetition helps
  int in_vain = 0;
  const Status status = insist([&]() -> Status {
    const Granted granted = TRY(grant("get", ref));
    const std::int64_t before = taken;
    bool begun = false;
    Status got = api_.download({.url = granted.url,
                                .headers = granted.headers,
                                .from = taken,
                                .begins = [&] { begun = true; },
                                .sink = [&](std::span<const std::byte> bytes) -> Status {
                                  taken += std::ssize(bytes);
                                  Status passed = sink(bytes);
                                  if (!passed) fatal = passed.error();
                                  return passed;
                                }},
                               options(std::chrono::hours(24)));
    if (taken < size && got) {
      got = fail(ErrorCode::kUnavailable, fmt::format("{} of {} bytes came", taken, size));
    }
    // What ends at the same place again and again has its end there.
    if (!got && begun && taken == before && ++in_vain == kTriesInVain) fatal = got.error();
    return fatal || taken == size ? Status() : got;
  });
  if (fatal) return fail(*fatal);
  return status;
}

}  // namespace loam::agent
