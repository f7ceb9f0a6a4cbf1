// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/lookup.h"

#include <algorithm>

#include "core/base/bytes.h"

namespace agentd {
namespace {

constexpr std::size_t kPrefixMin = 4;

std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

}  // namespace

Result<Ulid, RunError> find_conversation(const Store& store, const std::string& text) {
  if (auto whole = Ulid::parse(text)) {
    const auto info = store.info(*whole);
    if (info) return *whole;
    if (info.error().code != Code::kNotFound) return RunError{RunError::Kind::kStore, info.error().message};
    return RunError{RunError::Kind::kNotFound,
                    "no conversation " + upper(text) + "; 'agentd conversation list --all' lists them"};
  }
  const std::string prefix = upper(text);
  const std::string shown = "'" + one_line(text, 40) + "'";
  if (prefix.size() < kPrefixMin || prefix.size() >= Ulid::kTextBytes)
    return RunError{RunError::Kind::kNotFound, shown + " is not a conversation: give an id, or at least " +
                                                   std::to_string(kPrefixMin) + " characters of its beginning"};
  const auto found = store.find_ids(prefix, 2);
  if (!found) return RunError{RunError::Kind::kStore, found.error().message};
  if (found->empty())
    return RunError{RunError::Kind::kNotFound,
                    "no conversation begins with " + shown + "; 'agentd conversation list --all' lists them"};
  if (found->size() > 1)
    return RunError{RunError::Kind::kUsage, shown + " matches more than one conversation, such as " +
                                                (*found)[0].text() + " and " + (*found)[1].text() +
                                                "; give more characters"};
  return found->front();
}

Result<Ulid, RunError> newest_conversation(const Store& store, const std::string& project_id) {
  ConversationQuery query;
  query.project_id = project_id;
  const auto found = store.list(query);
  if (!found) return RunError{RunError::Kind::kStore, found.error().message};
  // A message that a hook blocked leaves a conversation without one: there is nothing to follow in it. A
  // subagent's is its parent's business.
  const auto newest = std::find_if(found->begin(), found->end(), [](const ConversationInfo& info) {
    return info.messages != 0 && info.agent_type.empty();
  });
  if (newest == found->end())
    return RunError{RunError::Kind::kNotFound, "this project has no conversation to follow yet (project " +
                                                   one_line(project_id, 200) + "); omit --follow to start one"};
  const auto id = Ulid::parse(newest->id);
  if (!id) return RunError{RunError::Kind::kStore, id.error().message};
  return *id;
}

}  // namespace agentd
