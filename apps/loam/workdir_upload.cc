// SPDX-License-Identifier: Apache-2.0
#include "loam/workdir_upload.h"

#include <fmt/format.h>

#include <set>

#include "loam/file_upload.h"
#include "loam/json_text.h"
#include "loam/parallel.h"

namespace loam::cli {

namespace {

struct Registered {
  std::string id;
  std::set<std::string> missing;  // SHA-256 of contents
};

Result<Registered> register_workdir(const ApiClient& client,
                                    const std::vector<jobs::WorkdirFile>& files) {
  // The server looks for every content in the store, which takes a while for many.
  const Json answer =
      TRY(client.call("POST", "/v1/workdirs", jobs::workdir_json(files),
                      {.repeat = Repeat::kSafe, .deadline = std::chrono::milliseconds(600'000)}));
  Registered out{.id = TRY(json_string(answer, "id"))};
  for (const Json& sha256 : member_of(answer, "missing")) {
    if (sha256.is_string()) out.missing.insert(sha256.get<std::string>());
  }
  return out;
}

}  // namespace

Result<std::string> upload_workdir(const ApiClient& client, const std::string& root,
                                   const std::vector<jobs::WorkdirFile>& files) {
  Registered registered = TRY(register_workdir(client, files));
  if (registered.missing.empty()) return registered.id;
  std::vector<const jobs::WorkdirFile*> wanted;
  std::int64_t bytes = 0;
  for (const jobs::WorkdirFile& file : files) {
    // Erasing makes sure that a content which several files share goes up once.
    if (registered.missing.erase(file.sha256) == 0) continue;
    wanted.push_back(&file);
    bytes += file.size;
  }
  {
    ProgressBar bar("uploading", bytes);
    TRY_VOID(run_parallel(wanted.size(), kTransferThreads, [&](std::size_t i) -> Status {
      const jobs::WorkdirFile& file = *wanted[i];
      const FileUpload upload{.path = "/v1/workdirs/blobs/" + file.sha256,
                              .local = root + "/" + file.path,
                              .size = file.size};
      TRY(put_file(client, upload, bar));
      return {};
    }));
  }
  registered = TRY(register_workdir(client, files));
  if (!registered.missing.empty()) {
    return fail(
        ErrorCode::kConflict,
        fmt::format("the server still misses {} of the work directory's files; submit again",
                    registered.missing.size()));
  }
  return registered.id;
}

}  // namespace loam::cli
