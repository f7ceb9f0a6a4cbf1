// SPDX-License-Identifier: Apache-2.0
#include "core/transfer/claude_transcript.h"

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>

#include "core/base/bytes.h"
#include "core/transfer/transcript_builder.h"

namespace agentd {
namespace {

using Lines = std::vector<JsonDocument>;

bool is_message(JsonView line) {
  const std::string_view type = line["type"].string_or("");
  return (type == "user" || type == "assistant") && line["message"].is_object();
}

// The ids of calls that the line makes, or answers.
std::vector<std::string> call_ids(JsonView line, std::string_view type, std::string_view key) {
  std::vector<std::string> out;
  const JsonView content = line["message"]["content"];
  for (std::size_t i = 0; i < content.size(); ++i)
    if (content.at(i)["type"].string_or("") == type) out.emplace_back(content.at(i)[key].string_or(""));
  return out;
}

// Which lines are of the branch that the newest message ends.
std::vector<bool> newest_branch(const Lines& lines) {
  std::unordered_map<std::string_view, std::size_t> places;
  std::size_t last = lines.size();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const JsonView line = lines[i].root();
    if (const std::string_view uuid = line["uuid"].string_or(""); !uuid.empty()) places.emplace(uuid, i);
    if (is_message(line) && !line["isSidechain"].bool_or(false)) last = i;
  }
  std::vector<bool> in(lines.size(), false);
  while (last < lines.size() && !in[last]) {
    in[last] = true;
    const JsonView line = lines[last].root();
    std::string_view parent = line["parentUuid"].string_or("");
    if (parent.empty()) parent = line["logicalParentUuid"].string_or("");
    const auto found = places.find(parent);
    last = found == places.end() ? lines.size() : found->second;
  }
  return in;
}

// Calls of one answer may be siblings in the tree, and so are their results.
void add_siblings(const Lines& lines, std::vector<bool>& in) {
  std::set<std::string, std::less<>> answers, calls;
  const auto is_own = [&](JsonView line) { return is_message(line) && !line["isSidechain"].bool_or(false); };
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (const std::string_view id = lines[i].root()["message"]["id"].string_or(""); in[i] && !id.empty())
      answers.emplace(id);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const JsonView line = lines[i].root();
    if (is_own(line) && answers.contains(line["message"]["id"].string_or(""))) in[i] = true;
    if (in[i])
      for (std::string& id : call_ids(line, "tool_use", "id")) calls.insert(std::move(id));
  }
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (is_own(lines[i].root()))
      for (const std::string& id : call_ids(lines[i].root(), "tool_result", "tool_use_id"))
        if (calls.contains(id)) in[i] = true;
}

// Lines that have no part of the conversation.
bool is_housekeeping(std::string_view type) {
  constexpr std::array<std::string_view, 18> kTypes = {"summary",
                                                       "system",
                                                       "file-history-snapshot",
                                                       "queue-operation",
                                                       "custom-title",
                                                       "ai-title",
                                                       "agent-name",
                                                       "agent-color",
                                                       "agent-setting",
                                                       "tag",
                                                       "last-prompt",
                                                       "progress",
                                                       "mode",
                                                       "permission-mode",
                                                       "pr-link",
                                                       "worktree-state",
                                                       "attribution-snapshot",
                                                       "content-replacement"};
  return std::find(kTypes.begin(), kTypes.end(), type) != kTypes.end();
}

// True for texts that the client shows to its user and tells to no model, or the other way round.
bool is_claude_note(std::string_view text) {
  constexpr std::array<std::string_view, 6> kBegins = {"<command-name>",         "<command-message>",
                                                       "<local-command-stdout>", "<local-command-stderr>",
                                                       "<local-command-caveat>", "<bash-stdout>"};
  for (const std::string_view begin : kBegins)
    if (text.starts_with(begin)) return true;
  return false;
}

class ClaudeReader {
 public:
  ForeignTranscript read(const Lines& lines, std::uint64_t cut_off) {
    if (cut_off != 0) builder_.leave_out("line that is cut off", cut_off);
    std::vector<bool> in = newest_branch(lines);
    add_siblings(lines, in);
    std::set<std::string, std::less<>> seen;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const JsonView line = lines[i].root();
      take_head(line);
      if (!is_message(line)) {
        leave_out_line(line["type"].string_or(""));
        continue;
      }
      const std::string_view uuid = line["uuid"].string_or("");
      if (line["isSidechain"].bool_or(false))
        builder_.leave_out("message of a subagent");
      else if (!in[i] && !uuid.empty())
        builder_.leave_out("message of an abandoned branch");
      else if (!uuid.empty() && !seen.emplace(uuid).second)
        builder_.leave_out("repeated message");
      else
        take_message(line);
    }
    return builder_.finish();
  }

 private:
  void take_head(JsonView line) {
    ForeignTranscript& head = builder_.head();
    const auto keep = [&](std::string& to, std::string_view key, bool newest) {
      const std::string_view value = line[key].string_or("");
      if (!value.empty() && (newest || to.empty())) to = value;
    };
    keep(head.session_id, "sessionId", false);
    keep(head.cwd, "cwd", false);
    keep(head.version, "version", true);
    const std::string_view type = line["type"].string_or("");
    if (type == "custom-title") keep(head.title, "customTitle", true);
  }

  void leave_out_line(std::string_view type) {
    if (type == "attachment")
      builder_.leave_out("note of the client");
    else if (!is_housekeeping(type))
      builder_.leave_out("line of an unknown kind");
  }

  void take_message(JsonView line) {
    builder_.at(line["timestamp"].string_or(""));
    if (line["isMeta"].bool_or(false)) return builder_.leave_out("note of the client");
    if (line["isApiErrorMessage"].bool_or(false)) return builder_.leave_out("error of the client");
    const JsonView message = line["message"], content = message["content"];
    if (line["type"].string_or("") == "assistant") return take_answer(message);
    if (line["isCompactSummary"].bool_or(false)) return builder_.summary(text_of(content));
    std::vector<Block> blocks;
    if (content.is_string()) take_text(blocks, content.string_or(""));
    for (std::size_t i = 0; content.is_array() && i < content.size(); ++i) take_block(blocks, content.at(i));
    builder_.user(std::move(blocks));
  }

  void take_answer(JsonView message) {
    std::vector<Block> blocks;
    const JsonView content = message["content"];
    if (content.is_string() && !is_blank(content.string_or("")))
      blocks.push_back(Block::of_text(std::string(content.string_or(""))));
    for (std::size_t i = 0; content.is_array() && i < content.size(); ++i) {
      const JsonView block = content.at(i);
      const std::string_view type = block["type"].string_or("");
      if (type == "text") {
        if (!is_blank(block["text"].string_or("")))
          blocks.push_back(Block::of_text(std::string(block["text"].string_or(""))));
      } else if (type == "tool_use") {
        blocks.push_back(
            TranscriptBuilder::call(block["id"].string_or(""), block["name"].string_or(""), block["input"].text()));
      } else {
        builder_.leave_out(type.ends_with("thinking") ? "thinking block" : "block of an unknown kind");
      }
    }
    builder_.assistant(std::string(message["id"].string_or("")), std::move(blocks));
  }

  void take_text(std::vector<Block>& to, std::string_view text) {
    if (is_claude_note(text)) return builder_.leave_out("note of the client");
    if (!is_blank(text)) to.push_back(Block::of_text(std::string(text)));
  }

  void take_media(std::vector<Block>& to, JsonView block, bool image) {
    const JsonView source = block["source"];
    builder_.media(to, image, source["media_type"].string_or(""), source["data"].string_or(""));
  }

  void take_block(std::vector<Block>& to, JsonView block) {
    const std::string_view type = block["type"].string_or("");
    if (type == "text") return take_text(to, block["text"].string_or(""));
    if (type == "image" || type == "document") return take_media(to, block, type == "image");
    if (type != "tool_result") return builder_.leave_out("block of an unknown kind");
    const JsonView content = block["content"];
    std::vector<Block> parts;
    for (std::size_t i = 0; content.is_array() && i < content.size(); ++i)
      if (const std::string_view kind = content.at(i)["type"].string_or(""); kind == "image" || kind == "document")
        take_media(parts, content.at(i), kind == "image");
    builder_.result(block["tool_use_id"].string_or(""), text_of(content), std::move(parts),
                    block["is_error"].bool_or(false));
  }

  TranscriptBuilder builder_{FileForm::kClaude};
};

}  // namespace

Result<ForeignTranscript> read_claude_transcript(std::string_view bytes) {
  std::uint64_t cut_off = 0;
  AGENTD_TRY(const Lines lines, read_json_lines(bytes, cut_off));
  return ClaudeReader().read(lines, cut_off);
}

}  // namespace agentd
