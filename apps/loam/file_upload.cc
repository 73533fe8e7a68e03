// SPDX-License-Identifier: Apache-2.0
#include "loam/file_upload.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <memory>

#include "io/file.h"

namespace loam::cli {

namespace {

constexpr std::chrono::milliseconds kStall{60'000};

// Where one try has got to.
struct Reading {
  io::Fd fd;
  std::int64_t offset = 0;
};

}  // namespace

Result<Json> put_file(const ApiClient& client, const FileUpload& upload, ProgressBar& bar) {
  std::shared_ptr<Reading> reading;
  const auto make = [&]() -> Result<net::ClientRequest> {
    if (reading) bar.add(-reading->offset);
    reading = std::make_shared<Reading>();
    reading->fd = TRY(io::open_file(upload.local, O_RDONLY | O_CLOEXEC));
    net::ClientRequest request;
    request.method = "PUT";
    request.url = upload.path;
    request.headers = upload.headers;
    request.deadline = std::chrono::milliseconds(0);
    request.stall_timeout = kStall;
    request.body_length = upload.size;
    request.body_source = [&, reading](std::span<std::byte> out) -> Result<std::size_t> {
      const std::size_t n = TRY(io::read_at(reading->fd.get(), out, reading->offset));
      if (n == 0) {
        return fail(ErrorCode::kDataCorrupt,
                    fmt::format("{} became shorter while it was sent; run the command again",
                                upload.local));
      }
      reading->offset += static_cast<std::int64_t>(n);
      bar.add(static_cast<std::int64_t>(n));
      return n;
    };
    return request;
  };
  const net::HttpResponse response = TRY(client.send_retrying(make));
  return parse_json(response.body);
}

}  // namespace loam::cli
