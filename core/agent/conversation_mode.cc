// SPDX-License-Identifier: Apache-2.0
#include "core/agent/conversation_mode.h"

#include "core/base/bytes.h"

namespace agentd {
namespace {

constexpr std::string_view kModeSpace = "agentd.modes";

Result<void> commit(Store& store, const KeyOp& op) {
  const auto done = store.commit_keys(kModeSpace, {&op, 1});
  if (!done) return done.error();
  return {};
}

}  // namespace

Result<std::optional<PermissionRules::Mode>> mode_of_conversation(const Store& store, const std::string& conversation) {
  using Found = std::optional<PermissionRules::Mode>;
  const auto kept = store.get_key(kModeSpace, conversation);
  if (!kept && kept.error().code == Code::kNotFound) return Found();
  if (!kept) return kept.error();
  const Found mode = find_permission_mode(kept->value);
  if (!mode)
    return Error{Code::kCorrupt, "the permission mode of conversation " + conversation + " is kept as '" +
                                     one_line(kept->value, 40) + "', which is none"};
  return mode;
}

Result<void> keep_mode(Store& store, const std::string& conversation, PermissionRules::Mode mode) {
  return commit(store, {KeyOp::Kind::kPut, conversation, std::string(name_of(mode))});
}

Result<void> copy_mode(Store& store, const std::string& from, const std::string& to) {
  AGENTD_TRY(const std::optional<PermissionRules::Mode> mode, mode_of_conversation(store, from));
  return mode ? keep_mode(store, to, *mode) : Result<void>();
}

Result<void> forget_mode(Store& store, const std::string& conversation) {
  auto done = commit(store, {KeyOp::Kind::kErase, conversation, {}});
  if (!done && done.error().code == Code::kNotFound) return {};
  return done;
}

}  // namespace agentd
