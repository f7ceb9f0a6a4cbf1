// SPDX-License-Identifier: Apache-2.0
#include "core/agent/services/project_services.h"

#include "core/base/bytes.h"
#include "core/base/hash.h"

namespace agentd {
namespace {

// A project's id may be a path, which is too long for a space.
constexpr std::size_t kProjectSpaceDigits = 32;

Error not_in_project(std::string_view id) {
  return {Code::kNotFound, "this project has no conversation " + one_line(id, 64)};
}

}  // namespace

std::string ProjectServices::space_of(const ServiceCaller& caller) const {
  return "project:" + hex(sha256(project_id_)).substr(0, kProjectSpaceDigits) + ":" + std::string(caller.plugin_id);
}

// Also true for a handle whose session has ended: nothing can be asked of it.
bool ProjectServices::is_own(agentd_conv conversation) const {
  const std::string project = services_.sessions().project_of(conversation);
  return project.empty() || project == project_id_;
}

Result<void> ProjectServices::check_conversation(std::string_view id) const {
  AGENTD_TRY(const Ulid wanted, Ulid::parse(id));
  const auto info = services_.runtime().parts().store.info(wanted);
  if (!info && info.error().code != Code::kNotFound) return info.error();
  return info && info->project_id == project_id_ ? Result<void>() : not_in_project(id);
}

Result<void> ProjectServices::check_thread(agentd_thread thread) const {
  const MutexLock lock(mutex_);
  return threads_.contains(thread) ? Result<void>() : Error{Code::kNotFound, "no open thread with that handle"};
}

// ---- compactor

std::uint64_t ProjectServices::count_text(std::string_view model, std::string_view text) {
  return services_.count_text(model, text);
}

std::uint64_t ProjectServices::count_messages(std::string_view model, const agentd_list& messages) {
  return services_.count_messages(model, messages);
}

Result<std::string> ProjectServices::compaction_prompt(const ServiceCaller& caller, const CompactOptions& options) {
  return services_.compaction_prompt(caller, options);
}

Result<CompactAnswer> ProjectServices::compact(const ServiceCaller& caller, const CompactSource& source,
                                               const CompactOptions& options) {
  if (!is_own(source.conversation)) return not_in_project(std::to_string(source.conversation));
  return services_.compact(caller, source, options);
}

Result<void> ProjectServices::request_compaction(const ServiceCaller& caller, std::string_view conversation_id,
                                                 const CompactOptions& options) {
  if (!conversation_id.empty()) AGENTD_TRY_VOID(check_conversation(conversation_id));
  return services_.request_compaction(caller, conversation_id, options);
}

// ---- thread factory

Result<agentd_thread> ProjectServices::open_thread(const ServiceCaller& caller, ThreadOptions options) {
  if (!is_own(options.charge_to)) return not_in_project(std::to_string(options.charge_to));
  AGENTD_TRY(const agentd_thread out, services_.open_thread(caller, std::move(options)));
  const MutexLock lock(mutex_);
  threads_.insert(out);
  return out;
}

Result<ThreadReply> ProjectServices::send(const ServiceCaller& caller, agentd_thread thread, std::string_view text) {
  AGENTD_TRY_VOID(check_thread(thread));
  return services_.send(caller, thread, text);
}

Result<Usage> ProjectServices::thread_usage(const ServiceCaller& caller, agentd_thread thread) {
  AGENTD_TRY_VOID(check_thread(thread));
  return services_.thread_usage(caller, thread);
}

Result<void> ProjectServices::close_thread(std::string_view plugin_id, agentd_thread thread) {
  AGENTD_TRY_VOID(check_thread(thread));
  AGENTD_TRY_VOID(services_.close_thread(plugin_id, thread));
  const MutexLock lock(mutex_);
  threads_.erase(thread);
  return {};
}

// ---- store

Result<PluginKey> ProjectServices::get(const ServiceCaller& caller, std::string_view key) {
  const std::string space = space_of(caller);
  ServiceCaller own = caller;
  own.plugin_id = space;
  return services_.get(own, key);
}

Result<std::vector<PluginKey>> ProjectServices::scan(const ServiceCaller& caller, std::string_view prefix,
                                                     std::string_view after, std::uint32_t limit) {
  const std::string space = space_of(caller);
  ServiceCaller own = caller;
  own.plugin_id = space;
  return services_.scan(own, prefix, after, limit);
}

Result<std::uint64_t> ProjectServices::commit(const ServiceCaller& caller, std::span<const PluginKeyOp> ops) {
  const std::string space = space_of(caller);
  ServiceCaller own = caller;
  own.plugin_id = space;
  return services_.commit(own, ops);
}

Result<std::vector<ConversationInfo>> ProjectServices::conversations(const agentd_conv_query& query) {
  const std::string_view wanted = view_of(query.project_id);
  if (!wanted.empty() && wanted != project_id_) return std::vector<ConversationInfo>();
  agentd_conv_query own = query;
  own.project_id = to_abi(project_id_);
  return services_.conversations(own);
}

Result<Rows> ProjectServices::messages(std::string_view conversation_id, std::uint32_t scope, std::uint64_t at,
                                       std::uint64_t from, std::uint32_t limit) {
  AGENTD_TRY_VOID(check_conversation(conversation_id));
  return services_.messages(conversation_id, scope, at, from, limit);
}

// "CONVERSATION:SEQ:BLOCK"
Result<std::string> ProjectServices::read_blob(std::string_view blob, std::uint64_t offset, std::uint64_t limit) {
  AGENTD_TRY_VOID(check_conversation(blob.substr(0, blob.find(':'))));
  return services_.read_blob(blob, offset, limit);
}

// Skips pages in which nothing is the project's: an empty page is the end of the feed.
Result<ConversationChanges> ProjectServices::changes(std::uint64_t cursor, std::uint32_t limit) {
  for (;;) {
    AGENTD_TRY(ConversationChanges found, services_.changes(cursor, limit));
    const bool ends = found.changed.empty();
    std::erase_if(found.changed, [this](const ConversationInfo& each) { return each.project_id != project_id_; });
    if (ends || !found.changed.empty()) return found;
    cursor = found.next;
  }
}

std::unique_ptr<Services> services_of_project(AgentServices& services, std::string project_id) {
  return std::make_unique<ProjectServices>(services, std::move(project_id));
}

}  // namespace agentd
