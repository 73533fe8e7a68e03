// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "base/encoding.h"
#include "base/units.h"
#include "loam/client_flags.h"
#include "loam/exit_code.h"
#include "loam/fs_client.h"
#include "loam/fs_commands.h"
#include "loam/interrupt.h"
#include "loam/json_text.h"
#include "loam/output.h"

namespace loam::cli {

namespace {

struct Options {
  ClientFlags client;
  std::string path;
  bool recursive = false;
  bool yes = false;
};

// Removes a tree page by page, so that its size costs no memory.
class Removal {
 public:
  explicit Removal(const ApiClient& client) : client_(client) {}

  Status directory(const std::string& path) {
    TRY_VOID(for_each_page(client_, path, [&](const FsPage& page) -> Status {
      Json operations = Json::array();
      for (const FsEntry& entry : page.entries) {
        if (interrupted()) return fail(ErrorCode::kCanceled, "interrupted");
        const std::string below = join_path(path, entry.name);
        if (entry.is_directory()) {
          TRY_VOID(directory(below));
        } else {
          operations.push_back(removal(below, "file"));
        }
      }
      return operations.empty() ? Status() : remove(std::move(operations));
    }));
    return path == "/" ? Status() : remove(Json::array({removal(path, "directory")}));
  }
  Status file(const std::string& path) { return remove(Json::array({removal(path, "file")})); }
  std::int64_t removed() const { return removed_; }

 private:
  static Json removal(const std::string& path, const char* kind) {
    Json out{{"op", "remove"}, {"kind", kind}};
    put_path(out, "path", path);
    return out;
  }
  Status remove(Json operations) {
    // Twice is as good as once: what is gone already is no error.
    const Json answer =
        TRY(client_.call("POST", "/v1/fs/batch", {{"operations", std::move(operations)}},
                         {.repeat = Repeat::kSafe}));
    for (const Json& result : member_of(answer, "results")) {
      const std::string error = text_of(result, "error");
      if (!error.empty() && error != "not_found") {
        return fail(ErrorCode::kConflict, text_of(result, "message"));
      }
      ++removed_;
    }
    return {};
  }

  const ApiClient& client_;
  std::int64_t removed_ = 0;
};

Result<bool> wanted(const ApiClient& client, const std::string& path) {
  const Json sums = TRY(client.get(fs_url("du", path)));
  return confirmed(fmt::format("remove {} files, {}, below {}?", whole_of(sums, "files"),
                               format_bytes(whole_of(sums, "bytes")), printable(path)));
}

Result<int> run(const Options& options) {
  const CopyEnd place = TRY(parse_fs_path(options.path));
  if (place.path == "/") {
    return fail(ErrorCode::kInvalidArgument, "the whole tree is too much; name a directory in it");
  }
  const ApiClient client = TRY(ApiClient::open(options.client));
  const FsEntry entry = TRY(fs_stat(client, place.path, Links::kKeep));
  Removal removal(client);
  if (!entry.is_directory()) {
    TRY_VOID(removal.file(place.path));
  } else if (!options.recursive) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} is a directory; remove it with -r", printable(place.path)));
  } else {
    if (!options.yes && ::isatty(STDIN_FILENO) == 1 && !TRY(wanted(client, place.path))) {
      note("nothing was removed\n");
      return kExitFailed;
    }
    TRY_VOID(removal.directory(place.path));
  }
  note("removed {} entr{}\n", removal.removed(), removal.removed() == 1 ? "y" : "ies");
  return kExitOk;
}

}  // namespace

void add_fs_rm_command(CLI::App& fs, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = fs.add_subcommand("rm", "Remove a file or a directory");
  command->footer(
      "On a terminal -r asks first. A symbolic link is removed, not what it leads to.\n"
      "\n"
      "Examples:\n  loam fs rm /users/ann/out/a\n  loam fs rm -r --yes /users/ann/old");
  command->add_option("PATH", options->path, "What to remove")->required()->option_text(" ");
  command->add_flag("-r,--recursive", options->recursive, "A directory with all below it");
  command->add_flag("-y,--yes", options->yes, "Do not ask");
  add_client_flags(*command, options->client);
  command->callback([options, &exit_code] { exit_code = finish("fs rm", run(*options)); });
}

}  // namespace loam::cli
