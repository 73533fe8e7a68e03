// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

namespace loam::cli {

// Each adds one command; when it is the one that was asked for, parsing runs it and sets
// `exit_code`, which must outlive the parsing.
void add_up_command(CLI::App& app, int& exit_code);
void add_server_command(CLI::App& app, int& exit_code);
void add_node_command(CLI::App& app, int& exit_code);
void add_watchdog_command(CLI::App& app, int& exit_code);

void add_submit_command(CLI::App& app, int& exit_code);
void add_jobs_command(CLI::App& app, int& exit_code);
void add_job_command(CLI::App& app, int& exit_code);
void add_logs_command(CLI::App& app, int& exit_code);
void add_events_command(CLI::App& app, int& exit_code);
void add_cancel_command(CLI::App& app, int& exit_code);
void add_retry_command(CLI::App& app, int& exit_code);
void add_checkpoints_command(CLI::App& app, int& exit_code);
void add_report_command(CLI::App& app, int& exit_code);

void add_nodes_command(CLI::App& app, int& exit_code);
void add_token_command(CLI::App& app, int& exit_code);
void add_db_command(CLI::App& app, int& exit_code);

// Its commands are in fs_commands.h.
void add_fs_command(CLI::App& app, int& exit_code);
void add_store_command(CLI::App& app, int& exit_code);
// The commands of `loam store`.
void add_store_ls_command(CLI::App& store, int& exit_code);
void add_store_cp_command(CLI::App& store, int& exit_code);
void add_store_rm_command(CLI::App& store, int& exit_code);
void add_store_cat_command(CLI::App& store, int& exit_code);
void add_store_sync_command(CLI::App& store, int& exit_code);
void add_store_check_command(CLI::App& store, int& exit_code);
void add_store_uploads_command(CLI::App& store, int& exit_code);

// The headings under which `loam --help` lists them.
inline constexpr const char* kMachineCommands = "Machines";
inline constexpr const char* kJobCommands = "Jobs";
inline constexpr const char* kOtherCommands = "Store and access";

}  // namespace loam::cli
