// SPDX-License-Identifier: Apache-2.0
#include "loam/commands.h"

namespace loam::cli {

void add_store_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("store", "List, copy and remove files of the store");
  command->group(kOtherCommands);
  add_store_ls_command(*command, exit_code);
  add_store_cp_command(*command, exit_code);
  add_store_rm_command(*command, exit_code);
  add_store_cat_command(*command, exit_code);
  add_store_sync_command(*command, exit_code);
  add_store_check_command(*command, exit_code);
  add_store_uploads_command(*command, exit_code);
  command->footer(
      "Paths of the store are written store:/datasets/emoji. A directory there is what has files "
      "below\n"
      "it: there are no empty ones.\n"
      "\n"
      "Where s3://bucket/key stands instead, this machine talks to the service itself, with the\n"
      "credentials that the AWS tools would use (AWS_ACCESS_KEY_ID, AWS_PROFILE, ...). Options "
      "may\n"
      "follow: s3://bucket/key?endpoint=http://host:7480&region=eu-central-1&path_style=true\n"
      "(or AWS_ENDPOINT_URL, AWS_REGION). dir:/srv/loam/key is a file of the directory store\n"
      "/srv/loam of this machine, also while no server runs.\n"
      "\n"
      "Examples:\n"
      "  loam store ls store:/datasets\n"
      "  loam store cp -r emoji/ store:/datasets/emoji\n"
      "  loam store rm -r store:/users/ann/old\n"
      "  loam store sync emoji s3://bucket/datasets/emoji\n"
      "  loam store check s3://bucket/loam");
  command->require_subcommand(1);
}

}  // namespace loam::cli
