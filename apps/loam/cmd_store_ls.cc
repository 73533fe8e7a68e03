// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "base/encoding.h"
#include "base/units.h"
#include "loam/client_flags.h"
#include "loam/commands.h"
#include "loam/direct_commands.h"
#include "loam/direct_store.h"
#include "loam/exit_code.h"
#include "loam/json_text.h"
#include "loam/output.h"
#include "loam/store_listing.h"
#include "loam/store_path.h"
#include "loam/table.h"

namespace loam::cli {

namespace {

struct Options {
  ClientFlags client;
  std::string path;
  bool recursive = false;
  bool json = false;
};

Result<StoreListing> list(const ApiClient& client, const Options& options) {
  const CopyEnd place = TRY(parse_store_path(options.path));
  StoreListing listing = TRY(list_directory(client, place.path, options.recursive));
  if (!place.slash) {
    if (auto object = TRY(find_object(client, place.path))) {
      listing.objects.insert(listing.objects.begin(), std::move(*object));
    }
  }
  if (listing.objects.empty() && listing.directories.empty() && place.path != "/") {
    return fail(ErrorCode::kNotFound,
                fmt::format("there is nothing at {}", printable(store_text(place.path))));
  }
  return listing;
}

Json listing_json(const StoreListing& listing) {
  Json objects = Json::array();
  for (const StoreObject& object : listing.objects) {
    objects.push_back(
        {{"path", object.path}, {"size", object.size}, {"modified", object.modified}});
  }
  return {{"objects", std::move(objects)}, {"directories", listing.directories}};
}

Result<int> run(const Options& options) {
  if (is_direct(options.path)) return direct_ls({options.path, options.recursive, options.json});
  const ApiClient client = TRY(ApiClient::open(options.client));
  const StoreListing listing = TRY(list(client, options));
  if (options.json) {
    print_json(listing_json(listing));
    return kExitOk;
  }
  Table table({{"SIZE", Align::kRight}, {"MODIFIED"}, {"PATH"}});
  for (const std::string& directory : listing.directories)
    table.add({{""}, {""}, {store_text(directory), Style::kActive}});
  std::int64_t bytes = 0;
  for (const StoreObject& object : listing.objects) {
    table.add({{format_bytes(object.size)}, {object.modified}, {store_text(object.path)}});
    bytes += object.size;
  }
  if (!table.empty()) print_table(table);
  if (options.recursive) {
    note("{} files, {}\n", listing.objects.size(), format_bytes(bytes));
  }
  return kExitOk;
}

}  // namespace

void add_store_ls_command(CLI::App& store, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = store.add_subcommand("ls", "List a directory of the store");
  command->footer(
      "Examples:\n  loam store ls store:/datasets\n  loam store ls -r --json store:/users/ann\n"
      "  loam store ls s3://bucket/datasets");
  command->add_option("PATH", options->path, "Where")->required()->option_text(" ");
  command->add_flag("-r,--recursive", options->recursive, "Everything below, and the sum");
  command->add_flag("--json", options->json,
                    "Print JSON: {objects, directories}; of s3://, {entries}");
  add_client_flags(*command, options->client);
  command->callback([options, &exit_code] { exit_code = finish("store ls", run(*options)); });
}

}  // namespace loam::cli
