// SPDX-License-Identifier: Apache-2.0
#pragma once
// memory.h - one lesson of earlier sessions: its fields, its JSON, and the Markdown file that a person may edit.
//
// Threading: values and pure functions.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/codec/json.h"

namespace session_memory {

enum class Polarity : std::uint8_t { kDo, kAvoid };
enum class Outcome : std::uint8_t { kSuccess, kFailure, kPartial };
enum class Origin : std::uint8_t {
  kDistilled,  // from a session
  kRecorded,   // by the tool memory_record
  kImported,   // from a file
  kDocument,   // a section of a document
};

std::string_view name_of(Polarity value);  // "do", "avoid"
std::string_view name_of(Outcome value);   // "success", "failure", "partial"
std::string_view name_of(Origin value);    // "distilled", "recorded", "imported", "document"
// kInvalid names the field and its values.
agentd::Result<Polarity> polarity_of(std::string_view text);
agentd::Result<Outcome> outcome_of(std::string_view text);
agentd::Result<Origin> origin_of(std::string_view text);

// Without white space at its ends.
std::string_view trimmed(std::string_view text);
// kInvalid: "NAME must be MUST".
agentd::Error wrong(std::string_view name, std::string_view must);

// The messages that a memory was made from: log sequences of one conversation, inclusive.
struct Provenance {
  std::string conversation;
  std::uint64_t seq = 0, through = 0;  // through 0 = seq alone; both 0 = the conversation

  bool covers(std::string_view id, std::uint64_t at) const;
  bool operator==(const Provenance&) const = default;
};

struct Memory {
  static constexpr std::size_t kTitleBytesMax = 200, kContentBytesMax = 8192, kSubjectBytesMax = 120;
  static constexpr std::size_t kTagsMax = 16, kTagBytesMax = 64, kSourcesMax = 16;
  static constexpr std::size_t kProjectBytesMax = 4096;

  std::string id;       // ULID
  std::string project;  // empty = of all projects
  std::string title, content;
  std::string subject;  // what it is about; memories of one subject may be merged or contradict each other
  Polarity polarity = Polarity::kDo;
  Outcome outcome = Outcome::kSuccess;
  std::vector<std::string> tags;
  double confidence = 0.5;  // 0 to 1
  std::uint64_t uses = 0, helpful = 0, unhelpful = 0;
  std::int64_t created_ms = 0, used_ms = 0;  // used_ms 0 = never
  std::string superseded_by;                 // an id; such a memory is not found by search
  std::vector<Provenance> provenance;
  Origin origin = Origin::kRecorded;

  bool is_superseded() const { return !superseded_by.empty(); }
  bool comes_from(std::string_view conversation, std::uint64_t seq) const;
  bool operator==(const Memory&) const = default;
};

// The same memory within the limits above: texts are valid UTF-8 and cut between characters, tags without blanks,
// duplicates and empty ones, numbers in their ranges.
Memory fitted(Memory memory);

std::string json_of(const Memory& memory);
void write(agentd::JsonWriter& out, const Memory& memory);
// Reads an object; absent members keep their defaults. kInvalid names the member and what it must be. Unknown members
// are ignored, so that a newer agentd's rows can be read.
agentd::Result<Memory> memory_of(agentd::JsonView from);
// Changes `memory` by the members of `fields` that a person may edit: title, content, subject, polarity, outcome, tags,
// confidence, superseded_by. kInvalid for another or a wrong one; `memory` may have changed in part then.
agentd::Result<void> edit(Memory& memory, agentd::JsonView fields);

// "01J…#12", "01J…#12-40", "01J…".
std::string text_of(const Provenance& source);
Provenance provenance_of(std::string_view text);

// A Markdown file: front matter of one `name: value` a line, whose values are plain text or JSON, and the content as
// its body. memory_from_markdown(markdown_of(m)) == m for every fitted m, but for the project, which is the
// directory's.
std::string markdown_of(const Memory& memory);
// kInvalid: "NAME:LINE: …". A file without front matter is one memory: the first heading or the file's name is its
// title, the text its content. An absent id stays empty.
agentd::Result<Memory> memory_from_markdown(std::string_view text, std::string_view name);
// "retry-on-429-7Q2ZK4.md": the title's words and the end of the id.
std::string file_name_of(const Memory& memory);

}  // namespace session_memory
