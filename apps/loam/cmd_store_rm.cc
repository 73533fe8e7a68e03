// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "base/encoding.h"
#include "base/units.h"
#include "loam/client_flags.h"
#include "loam/commands.h"
#include "loam/direct_commands.h"
#include "loam/direct_store.h"
#include "loam/exit_code.h"
#include "loam/output.h"
#include "loam/parallel.h"
#include "loam/store_listing.h"
#include "loam/store_path.h"

namespace loam::cli {

namespace {

struct Options {
  ClientFlags client;
  std::string path;
  bool recursive = false;
  bool yes = false;
};

Result<std::vector<StoreObject>> doomed(const ApiClient& client, const Options& options) {
  const CopyEnd place = TRY(parse_store_path(options.path));
  if (place.path == "/") {
    return fail(ErrorCode::kInvalidArgument, "the whole store is too much; name a directory in it");
  }
  std::vector<StoreObject> out;
  if (!place.slash) {
    if (auto object = TRY(find_object(client, place.path))) out.push_back(std::move(*object));
  }
  if (options.recursive) {
    StoreListing below = TRY(list_directory(client, place.path, /*recursive=*/true));
    out.insert(out.end(), below.objects.begin(), below.objects.end());
  } else if (out.empty() && TRY(is_store_directory(client, place.path))) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} is a directory; remove it with -r",
                                                         printable(store_text(place.path))));
  }
  if (out.empty()) {
    return fail(ErrorCode::kNotFound,
                fmt::format("there is nothing at {}", printable(store_text(place.path))));
  }
  return out;
}

bool wanted(const std::vector<StoreObject>& objects, const std::string& path) {
  std::int64_t bytes = 0;
  for (const StoreObject& object : objects)
    bytes += object.size;
  return confirmed(fmt::format("remove {} files, {}, below {}?", objects.size(),
                               format_bytes(bytes), printable(path)));
}

Result<int> run(const Options& options) {
  const bool ask = options.recursive && !options.yes && ::isatty(STDIN_FILENO) == 1;
  if (is_direct(options.path)) return direct_rm({options.path, options.recursive, ask});
  const ApiClient client = TRY(ApiClient::open(options.client));
  const std::vector<StoreObject> objects = TRY(doomed(client, options));
  if (ask && !wanted(objects, options.path)) {
    note("nothing was removed\n");
    return kExitFailed;
  }
  TRY_VOID(run_parallel(objects.size(), kTransferThreads, [&](std::size_t i) -> Status {
    TRY(client.call("DELETE", object_url(objects[i].path), Json(), {.repeat = Repeat::kSafe}));
    return {};
  }));
  note("removed {} file{}\n", objects.size(), objects.size() == 1 ? "" : "s");
  return kExitOk;
}

}  // namespace

void add_store_rm_command(CLI::App& store, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = store.add_subcommand("rm", "Remove a file or a directory of the store");
  command->footer(
      "On a terminal -r asks first.\n"
      "\n"
      "Examples:\n"
      "  loam store rm store:/users/ann/out/a\n"
      "  loam store rm -r --yes store:/users/ann/old\n"
      "  loam store rm -r s3://bucket/old");
  command->add_option("PATH", options->path, "What to remove")->required()->option_text(" ");
  command->add_flag("-r,--recursive", options->recursive, "A directory with all below it");
  command->add_flag("-y,--yes", options->yes, "Do not ask");
  add_client_flags(*command, options->client);
  command->callback([options, &exit_code] { exit_code = finish("store rm", run(*options)); });
}

}  // namespace loam::cli
