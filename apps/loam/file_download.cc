// SPDX-License-Identifier: Apache-2.0
#include "loam/file_download.h"

#include "loam/output.h"

namespace loam::cli {

namespace {
constexpr std::chrono::milliseconds kStall{60'000};
}  // namespace

Result<std::unique_ptr<PartialFile>> get_file(const ApiClient& client, const std::string& url,
                                              const std::string& local, ProgressBar& bar) {
  std::unique_ptr<PartialFile> file;
  TRY(client.send_retrying([&]() -> Result<net::ClientRequest> {
    if (file) bar.add(-file->length());
    file = std::make_unique<PartialFile>(local);
    TRY_VOID(file->open());
    net::ClientRequest request;
    request.url = url;
    request.deadline = std::chrono::milliseconds(0);
    request.stall_timeout = kStall;
    request.sink = [&](std::span<const std::byte> bytes) -> Status {
      TRY_VOID(file->write(bytes));
      bar.add(static_cast<std::int64_t>(bytes.size()));
      return {};
    };
    return request;
  }));
  return file;
}

Status print_file(const ApiClient& client, const std::string& url) {
  // What has been written cannot be taken back, so a try that breaks is the last.
  bool begun = false;
  TRY(client.send_retrying([&]() -> Result<net::ClientRequest> {
    if (begun) return fail(ErrorCode::kUnavailable, "the connection broke in the middle");
    net::ClientRequest request;
    request.url = url;
    request.deadline = std::chrono::milliseconds(0);
    request.sink = [&](std::span<const std::byte> bytes) -> Status {
      begun = true;
      if (put(stdout, {reinterpret_cast<const char*>(bytes.data()), bytes.size()})) return {};
      return fail(ErrorCode::kInternal, "writing the output failed");
    };
    return request;
  }));
  return {};
}

}  // namespace loam::cli
