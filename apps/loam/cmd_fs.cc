// SPDX-License-Identifier: Apache-2.0
#include "loam/commands.h"
#include "loam/fs_commands.h"

namespace loam::cli {

void add_fs_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("fs", "Work with the namespace: the tree of files");
  command->group(kOtherCommands);
  for (const auto add :
       {add_fs_ls_command, add_fs_stat_command, add_fs_cat_command, add_fs_cp_command,
        add_fs_mv_command, add_fs_rm_command, add_fs_mkdir_command, add_fs_ln_command,
        add_fs_du_command, add_fs_df_command, add_fs_find_command, add_fs_seal_command,
        add_fs_quota_command, add_fs_durability_command, add_fs_status_command,
        add_fs_fsck_command}) {
    add(*command, exit_code);
  }
  command->footer(
      "The namespace is one tree of directories, files and links. Its entries are rows of the\n"
      "server's database, so renames and sums take no time; the bytes are objects in the store.\n"
      "Paths are absolute: /datasets/emoji, or fs:/datasets/emoji where one of this machine could\n"
      "be meant, too.\n"
      "\n"
      "Examples:\n"
      "  loam fs mkdir -p /datasets\n"
      "  loam fs cp -r emoji/ fs:/datasets/emoji\n"
      "  loam fs ls /datasets/emoji\n"
      "  loam fs mv /runs/ckpt.tmp /runs/ckpt-100\n"
      "  loam fs find --older-than 30d --larger-than 1G /runs");
  command->require_subcommand(1);
}

}  // namespace loam::cli
