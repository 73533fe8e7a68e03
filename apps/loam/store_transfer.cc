// SPDX-License-Identifier: Apache-2.0
#include "loam/store_transfer.h"

#include <fcntl.h>
#include <fmt/format.h>

#include "io/crc32c.h"
#include "io/file.h"
#include "loam/file_download.h"
#include "loam/file_upload.h"
#include "loam/interrupt.h"
#include "loam/json_text.h"
#include "loam/parallel.h"
#include "loam/store_listing.h"
#include "loam/store_path.h"

namespace loam::cli {

namespace {

struct Checksum {
  std::int64_t length = 0;
  std::uint32_t crc = 0;
};

Result<Checksum> checksum_of(const std::string& path) {
  const io::Fd fd = TRY(io::open_file(path, O_RDONLY | O_CLOEXEC));
  std::vector<std::byte> buffer(1 << 20);
  Checksum out;
  while (true) {
    if (interrupted()) return fail(ErrorCode::kCanceled, "interrupted");
    const std::size_t n = TRY(io::read_at(fd.get(), buffer, out.length));
    if (n == 0) return out;
    out.crc = io::crc32c(std::span(buffer).first(n), out.crc);
    out.length += static_cast<std::int64_t>(n);
  }
}

Status upload_one(const ApiClient& client, const CopyItem& item, ProgressBar& bar) {
  const Checksum checksum = TRY(checksum_of(item.local));
  FileUpload upload{.path = object_url(item.store), .local = item.local, .size = checksum.length};
  upload.headers.set("Loam-Crc32c", fmt::format("{:08x}", checksum.crc));
  const Json stored = TRY(put_file(client, upload, bar));
  if (whole_of(stored, "size", -1) != checksum.length) {
    return fail(ErrorCode::kDataCorrupt,
                fmt::format("{}: the server stored {} bytes, not {}; copy it again",
                            store_text(item.store), text_of(stored, "size", "?"), checksum.length));
  }
  return {};
}

Status download_one(const ApiClient& client, const CopyItem& item, ProgressBar& bar) {
  if (const std::size_t slash = item.local.rfind('/'); slash != std::string::npos && slash > 0) {
    TRY_VOID(io::make_directories(item.local.substr(0, slash)));
  }
  const auto file = TRY(get_file(client, object_url(item.store), item.local, bar));
  if (file->length() != item.size) {
    return fail(
        ErrorCode::kDataCorrupt,
        fmt::format("{} has {} bytes, not {} as listed: it changed meanwhile; copy it again",
                    store_text(item.store), file->length(), item.size));
  }
  return file->keep();
}

Status named(const CopyItem& item, Status status) {
  if (status || status.error().code == ErrorCode::kCanceled) return status;
  return fail(status.error().code,
              fmt::format("{}: {}", store_text(item.store), status.error().message));
}

}  // namespace

Status upload_files(const ApiClient& client, const std::vector<CopyItem>& items) {
  ProgressBar bar("uploading", total_bytes(items));
  return run_parallel(items.size(), kTransferThreads, [&](std::size_t i) {
    return named(items[i], upload_one(client, items[i], bar));
  });
}

Status download_files(const ApiClient& client, const std::vector<CopyItem>& items) {
  ProgressBar bar("downloading", total_bytes(items));
  return run_parallel(items.size(), kTransferThreads, [&](std::size_t i) {
    return named(items[i], download_one(client, items[i], bar));
  });
}

std::int64_t total_bytes(const std::vector<CopyItem>& items) {
  std::int64_t total = 0;
  for (const CopyItem& item : items)
    total += item.size;
  return total;
}

}  // namespace loam::cli
