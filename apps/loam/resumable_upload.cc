// SPDX-License-Identifier: Apache-2.0
#include "loam/resumable_upload.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>

#include "base/digest.h"
#include "base/encoding.h"
#include "base/json.h"
#include "base/units.h"
#include "io/file.h"
#include "loam/interrupt.h"
#include "loam/parallel.h"

namespace loam::cli {

namespace {

constexpr std::int64_t kPartBytes = 16 * kMiB;
constexpr std::int64_t kMaxNoteBytes = 64 << 10;

std::string notes_directory() {
  const auto value = [](const char* name) -> std::string {
    const char* text = std::getenv(name);
    return text == nullptr ? "" : text;
  };
  const std::string cache = value("XDG_CACHE_HOME");
  return (cache.empty() ? value("HOME") + "/.cache" : cache) + "/loam/uploads";
}

std::int64_t part_bytes(std::int64_t size) {
  const std::int64_t least = (size + object::kMaxParts - 1) / object::kMaxParts;
  return std::max(kPartBytes, (least + kMiB - 1) / kMiB * kMiB);
}

// What is remembered of one upload. Losing it costs the parts that were sent, nothing else.
class Note {
 public:
  Note(const object::ObjectStore& store, const ResumableFile& file)
      : file_(file),
        path_(fmt::format("{}/{}.json", notes_directory(),
                          sha256_hex(store.describe() + '\0' + file.key + '\0' + file.local))) {}

  // The upload that the note speaks of, if it is about this very file.
  std::string upload_id() const {
    const auto text = io::read_file(path_, kMaxNoteBytes);
    if (!text) return "";
    const auto json = parse_json(*text);
    if (!json || !json->is_object()) return "";
    const bool same = json_int(*json, "size", -1).value_or(-1) == file_.size &&
                      json_int(*json, "modified_ms", -1).value_or(-1) == file_.modified_ms &&
                      json_int(*json, "part_bytes", -1).value_or(-1) == part_bytes(file_.size);
    return same ? json_string(*json, "upload_id", "").value_or("") : "";
  }
  Status write(const std::string& upload_id) const {
    TRY_VOID(io::make_directories(notes_directory(), 0700));
    return io::write_file_atomic(path_,
                                 dump_json({{"upload_id", upload_id},
                                            {"size", file_.size},
                                            {"modified_ms", file_.modified_ms},
                                            {"part_bytes", part_bytes(file_.size)}}),
                                 0600);
  }
  void remove() const { ::unlink(path_.c_str()); }

 private:
  const ResumableFile& file_;
  const std::string path_;
};

struct Progress {
  std::string upload_id;
  std::map<int, object::UploadedPart> parts;  // by number
};

std::int64_t size_of_part(const ResumableFile& file, int number) {
  const std::int64_t step = part_bytes(file.size);
  return std::min(step, file.size - (number - 1) * step);
}

Result<Progress> begin_or_go_on(object::MultipartUploads& uploads, const ResumableFile& file,
                                const Note& note) {
  Progress out;
  out.upload_id = note.upload_id();
  if (!out.upload_id.empty()) {
    const auto there = uploads.list_parts(file.key, out.upload_id);
    if (!there && there.error().code != ErrorCode::kNotFound) return fail(there.error());
    if (there) {
      for (const object::UploadedPart& part : *there) {
        if (part.size == size_of_part(file, part.number)) out.parts[part.number] = part;
      }
      return out;
    }
  }
  out.upload_id = TRY(uploads.begin_upload(file.key));
  if (const Status written = note.write(out.upload_id); !written) {
    // Without a note nobody would find the upload again.
    TRY_VOID(uploads.abort_upload(file.key, out.upload_id));
    return fail(written.error());
  }
  return out;
}

}  // namespace

Status upload_resumably(object::ObjectStore& store, object::MultipartUploads& uploads,
                        const ResumableFile& file, const std::function<void(std::int64_t)>& moved) {
  const Note note(store, file);
  Progress progress = TRY(begin_or_go_on(uploads, file, note));
  const io::Fd fd = TRY(io::open_file(file.local, O_RDONLY | O_CLOEXEC));
  const std::int64_t step = part_bytes(file.size);
  const auto count = static_cast<int>((file.size + step - 1) / step);
  std::vector<int> missing;
  for (int number = 1; number <= count; ++number) {
    const auto there = progress.parts.find(number);
    if (there == progress.parts.end()) {
      missing.push_back(number);
    } else {
      moved(there->second.size);
    }
  }
  std::mutex mutex;
  TRY_VOID(run_parallel(missing.size(), kTransferThreads, [&](std::size_t i) -> Status {
    if (interrupted()) return fail(ErrorCode::kCanceled, "interrupted");
    const int number = missing[i];
    std::string bytes(static_cast<std::size_t>(size_of_part(file, number)), '\0');
    const std::size_t n =
        TRY(io::read_at(fd.get(), std::as_writable_bytes(std::span(bytes)), (number - 1) * step));
    if (n != bytes.size()) {
      return fail(ErrorCode::kDataCorrupt,
                  fmt::format("{} became shorter while it was read", printable(file.local)));
    }
    object::UploadedPart part = TRY(uploads.put_part(file.key, progress.upload_id, number, bytes));
    moved(part.size);
    const std::lock_guard lock(mutex);
    progress.parts[number] = std::move(part);
    return {};
  }));
  std::vector<object::UploadedPart> parts;
  for (auto& [number, part] : progress.parts)
    parts.push_back(std::move(part));
  TRY(uploads.complete_upload(file.key, progress.upload_id, parts, {}));
  note.remove();
  return {};
}

}  // namespace loam::cli
