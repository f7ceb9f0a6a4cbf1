// SPDX-License-Identifier: Apache-2.0
#pragma once
// commands.h - the commands of the program, one file each. All return an exit code (exit_codes.h).
//
// Threading: called once, on the main thread.

namespace agentd::app {

class App;
class Arguments;

int run_command(App& app, const Arguments& arguments);
int acp_command(App& app, const Arguments& arguments);
int mcp_serve_command(App& app, const Arguments& arguments);
int serve_command(App& app, const Arguments& arguments);
int attach_command(App& app, const Arguments& arguments);
int chat_command(App& app, const Arguments& arguments);
int approve_command(App& app, const Arguments& arguments);
int compact_command(App& app, const Arguments& arguments);
int list_command(App& app, const Arguments& arguments);
int search_command(App& app, const Arguments& arguments);
int show_command(App& app, const Arguments& arguments);
int boundaries_command(App& app, const Arguments& arguments);
int dump_command(App& app, const Arguments& arguments);
int export_command(App& app, const Arguments& arguments);
int import_command(App& app, const Arguments& arguments);
int fork_command(App& app, const Arguments& arguments);
int erase_command(App& app, const Arguments& arguments);
int delete_command(App& app, const Arguments& arguments);
int permissions_list_command(App& app, const Arguments& arguments);
int permissions_explain_command(App& app, const Arguments& arguments);
int permissions_forget_command(App& app, const Arguments& arguments);
int checkpoint_list_command(App& app, const Arguments& arguments);
int checkpoint_save_command(App& app, const Arguments& arguments);
int checkpoint_show_command(App& app, const Arguments& arguments);
int checkpoint_resume_command(App& app, const Arguments& arguments);
int config_show_command(App& app, const Arguments& arguments);
int config_explain_command(App& app, const Arguments& arguments);
int config_path_command(App& app, const Arguments& arguments);
int config_reference_command(App& app, const Arguments& arguments);
int sandbox_run_command(App& app, const Arguments& arguments);
int sandbox_explain_command(App& app, const Arguments& arguments);
int doctor_command(App& app, const Arguments& arguments);
int hooks_list_command(App& app, const Arguments& arguments);
int hooks_trust_command(App& app, const Arguments& arguments);
int hooks_untrust_command(App& app, const Arguments& arguments);
int hooks_release_command(App& app, const Arguments& arguments);
int hooks_validate_command(App& app, const Arguments& arguments);
int hooks_fuzz_command(App& app, const Arguments& arguments);
int hooks_contract_command(App& app, const Arguments& arguments);
int hooks_import_command(App& app, const Arguments& arguments);
int hooks_new_command(App& app, const Arguments& arguments);
int hooks_test_command(App& app, const Arguments& arguments);
int hooks_run_command(App& app, const Arguments& arguments);
int hooks_trace_command(App& app, const Arguments& arguments);
int hooks_why_command(App& app, const Arguments& arguments);
int hooks_replay_command(App& app, const Arguments& arguments);
int models_command(App& app, const Arguments& arguments);
int usage_command(App& app, const Arguments& arguments);
int auth_set_command(App& app, const Arguments& arguments);
int auth_list_command(App& app, const Arguments& arguments);
int auth_remove_command(App& app, const Arguments& arguments);
int auth_token_add_command(App& app, const Arguments& arguments);
int auth_token_list_command(App& app, const Arguments& arguments);
int auth_token_remove_command(App& app, const Arguments& arguments);
int mcp_add_command(App& app, const Arguments& arguments);
int mcp_import_command(App& app, const Arguments& arguments);
int mcp_list_command(App& app, const Arguments& arguments);
int mcp_remove_command(App& app, const Arguments& arguments);
int mcp_show_command(App& app, const Arguments& arguments);
int mcp_trust_command(App& app, const Arguments& arguments);
int mcp_untrust_command(App& app, const Arguments& arguments);
int memory_command(App& app, const Arguments& arguments);
int recipe_list_command(App& app, const Arguments& arguments);
int recipe_show_command(App& app, const Arguments& arguments);
int store_check_command(App& app, const Arguments& arguments);
int store_stats_command(App& app, const Arguments& arguments);
int store_backup_command(App& app, const Arguments& arguments);
int store_salvage_command(App& app, const Arguments& arguments);
int completion_command(App& app, const Arguments& arguments);

enum class PluginsMode { kText, kJson, kVerify };
// `agentd --plugins[=json]`: manifests only; no byte of a plugin runs. kVerify loads each module that may run in
// a process of its own.
int plugins_command(App& app, PluginsMode mode);

}  // namespace agentd::app
