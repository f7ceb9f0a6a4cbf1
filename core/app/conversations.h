// SPDX-License-Identifier: Apache-2.0
#pragma once
// conversations.h - finds a conversation, its boundaries and earlier revisions without an engine: no key, hook or
// plugin is needed.
//
// Threading: one thread.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/app/app.h"
#include "core/app/failure.h"
#include "core/app/options.h"
#include "core/conversation/view.h"
#include "core/store/store.h"
#include "core/workplace/project.h"

namespace agentd::app {

// The store, or null if none exists yet.
Result<std::unique_ptr<Store>, Failure> existing_store(const App& app);

struct FoundConversation {
  std::unique_ptr<Store> store;
  Ulid id;
};
// By its id or a unique prefix.
Result<FoundConversation, Failure> existing_conversation(const App& app, const std::string& text);
// The one that --conversation-id or --follow names.
Result<FoundConversation, Failure> wanted_conversation(const App& app, const Arguments& arguments);

// A note about the conversation found by --follow, if it has no answer yet but an older one of the project has;
// empty otherwise.
std::string unanswered_note(const Store& store, const Project& project, const Ulid& found);

// A boundary of the log.
struct LoggedBoundary {
  std::uint64_t seq = 0;
  std::int64_t time_ms = 0;
  BoundaryRecord record;
  bool undone = false;
};

// A complete log and its boundaries.
struct History {
  std::string id;
  std::vector<StoredRecord> records;  // dense from sequence 1
  std::vector<LoggedBoundary> boundaries;
  std::uint64_t revision() const { return records.size(); }
  // The last one in effect; null if there is none.
  const LoggedBoundary* last() const;
};
// kNotFound, kCorrupt.
Result<History> read_history(const Store& store, const Ulid& id);

// The boundary with that id, unique prefix of an id, or sequence.
Result<const LoggedBoundary*, Failure> find_boundary(const History& history, const std::string& name);
// The revision named by `name`: a sequence itself, or for a boundary the revision just before it.
Result<std::uint64_t, Failure> find_moment(const History& history, const std::string& name);

// The log up to a revision.
std::vector<StoredRecord> records_until(const History& history, std::uint64_t revision);
// The view at a revision, its tokens estimated.
Result<Conversation> view_at(const History& history, std::uint64_t revision);

}  // namespace agentd::app
