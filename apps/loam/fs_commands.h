// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

namespace loam::cli {

// The commands of `loam fs`; as in commands.h.
void add_fs_ls_command(CLI::App& fs, int& exit_code);
void add_fs_stat_command(CLI::App& fs, int& exit_code);
void add_fs_cat_command(CLI::App& fs, int& exit_code);
void add_fs_cp_command(CLI::App& fs, int& exit_code);
void add_fs_mv_command(CLI::App& fs, int& exit_code);
void add_fs_rm_command(CLI::App& fs, int& exit_code);
void add_fs_mkdir_command(CLI::App& fs, int& exit_code);
void add_fs_ln_command(CLI::App& fs, int& exit_code);
void add_fs_du_command(CLI::App& fs, int& exit_code);
void add_fs_df_command(CLI::App& fs, int& exit_code);
void add_fs_find_command(CLI::App& fs, int& exit_code);
void add_fs_seal_command(CLI::App& fs, int& exit_code);
void add_fs_quota_command(CLI::App& fs, int& exit_code);
void add_fs_durability_command(CLI::App& fs, int& exit_code);
void add_fs_status_command(CLI::App& fs, int& exit_code);
void add_fs_fsck_command(CLI::App& fs, int& exit_code);

}  // namespace loam::cli
