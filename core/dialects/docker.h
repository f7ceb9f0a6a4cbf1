// SPDX-License-Identifier: Apache-2.0
#pragma once
// docker.h - what the parts of docker-agent's dialect share: its events, its messages, its file.
// Private.
//
// Threading: pure functions and immutable data.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/codec/json.h"
#include "core/dialects/translator.h"

namespace agentd {

enum class DockerRewrite : std::uint8_t { kNone, kToolInput, kMessages, kToolResponse };

// What docker-agent lets one of its events do. Several of its events are phases of one of ours;
// `priority` keeps their order there.
struct DockerEvent {
  std::string_view name;
  std::array<std::uint32_t, 2> events{};  // ours; a second one for a source that needs two, else 0
  int priority = 0;
  bool tool_matched = false;
  bool can_block = false;
  bool fails_closed = false;
  DockerRewrite rewrite = DockerRewrite::kNone;
  bool decision = false;  // permission_decision is a verdict
  bool approval = false;  // "allow" answers for the user
  bool metadata = false;
  bool context = false;  // additional_context, and plain text on standard output
  bool instructions = false;
  bool summary = false;
  std::string_view when{};     // which of our events it is, as an expression; empty = each
  std::string_view missing{};  // events without a counterpart: why; a clause
};

inline constexpr Milliseconds kDockerTime{60'000};  // of a hook that names none

std::span<const DockerEvent> docker_events();
// Null for a name that docker-agent does not have.
const DockerEvent* find_docker_event(std::string_view name);
// The one that the hook listens to: by its foreign name, else by its event.
const DockerEvent& docker_event_of(const HookDefinition& hook);

// The history as docker-agent keeps it (roles system, user, assistant, tool), as a JSON array.
std::string docker_messages(JsonView payload);
// `updated_messages` put into `verdict`: messages that are as they were are kept, others are
// literals.
void take_docker_messages(JsonView messages, JsonView payload, VerdictMaker& verdict);

Result<DefinitionSet> read_docker_settings(std::string_view text, std::string_view path, std::string_view prefix);

}  // namespace agentd
