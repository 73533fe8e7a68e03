// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "loam/client_flags.h"
#include "loam/commands.h"
#include "loam/direct_commands.h"
#include "loam/direct_store.h"
#include "loam/exit_code.h"
#include "loam/interrupt.h"
#include "loam/output.h"
#include "loam/store_listing.h"
#include "loam/store_path.h"

namespace loam::cli {

namespace {

struct Options {
  ClientFlags client;
  std::string path;
};

Result<int> run(const Options& options) {
  if (is_direct(options.path)) return direct_cat(options.path);
  const CopyEnd place = TRY(parse_store_path(options.path));
  const ApiClient client = TRY(ApiClient::open(options.client));
  // What has been written cannot be taken back, so a try that breaks is the last.
  bool begun = false;
  TRY(client.send_retrying([&]() -> Result<net::ClientRequest> {
    if (begun) return fail(ErrorCode::kUnavailable, "the connection broke in the middle");
    net::ClientRequest request;
    request.url = object_url(place.path);
    request.deadline = std::chrono::milliseconds(0);
    request.sink = [&](std::span<const std::byte> bytes) -> Status {
      begun = true;
      if (put(stdout, {reinterpret_cast<const char*>(bytes.data()), bytes.size()})) return {};
      return fail(ErrorCode::kInternal, "writing the output failed");
    };
    return request;
  }));
  return kExitOk;
}

}  // namespace

void add_store_cat_command(CLI::App& store, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = store.add_subcommand("cat", "Write a file of the store to standard output");
  command->footer(
      "Examples:\n  loam store cat store:/users/ann/out/a | head\n"
      "  loam store cat s3://bucket/a.json | jq .");
  command->add_option("PATH", options->path, "Which")->required()->option_text(" ");
  add_client_flags(*command, options->client);
  command->callback([options, &exit_code] { exit_code = finish("store cat", run(*options)); });
}

}  // namespace loam::cli
