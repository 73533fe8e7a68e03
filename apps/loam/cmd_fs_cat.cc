// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "loam/client_flags.h"
#include "loam/exit_code.h"
#include "loam/fs_client.h"
#include "loam/fs_commands.h"
#include "loam/output.h"

namespace loam::cli {

namespace {

struct Options {
  ClientFlags client;
  std::string path;
};

Result<int> run(const Options& options) {
  const CopyEnd place = TRY(parse_fs_path(options.path));
  const ApiClient client = TRY(ApiClient::open(options.client));
  // What has been written cannot be taken back, so a try that breaks is the last.
  bool begun = false;
  TRY(client.send_retrying([&]() -> Result<net::ClientRequest> {
    if (begun) return fail(ErrorCode::kUnavailable, "the connection broke in the middle");
    net::ClientRequest request;
    request.url = fs_url("content", place.path);
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

void add_fs_cat_command(CLI::App& fs, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = fs.add_subcommand("cat", "Write a file to standard output");
  command->footer("Examples:\n  loam fs cat /users/ann/out/a | head");
  command->add_option("PATH", options->path, "Which")->required()->option_text(" ");
  add_client_flags(*command, options->client);
  command->callback([options, &exit_code] { exit_code = finish("fs cat", run(*options)); });
}

}  // namespace loam::cli
