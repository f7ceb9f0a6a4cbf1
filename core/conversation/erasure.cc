// SPDX-License-Identifier: Apache-2.0
#include "core/conversation/erasure.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/codec/json.h"

namespace agentd {
namespace {

// The stand-in of a tool's input, as of a call whose input cannot be read (tool_input.h).
std::string erased_input() {
  JsonWriter out;
  out.begin_object().member("raw", kErasedText).end_object();
  return std::string(out.text());
}

bool is_one_of(std::string_view key, std::initializer_list<std::string_view> keys) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

// Goes through the texts of a payload and remembers whether one has changed.
class Replacer {
 public:
  // `whole`: every text goes, and so do images and documents.
  Replacer(const ReplaceText& replace, bool whole) : replace_(replace), whole_(whole) {}

  Result<std::optional<std::string>> run(const Record& record) {
    if (record.type == RecordType::kToolResult || record.type == RecordType::kDirectResult) return result(record);
    if (carries_message(record.type)) return message(record);
    if (record.type == RecordType::kCheckpoint) return checkpoint(record);
    // Why a compaction was begun is one of a few words.
    reason_is_text_ = record.type != RecordType::kBoundary && record.type != RecordType::kCompactionAttempt;
    if (is_one_of(name_of(record.type), {"genesis", "settings", "run_begin", "usage", "tool_intent", "child", "erase"}))
      return std::optional<std::string>();
    const auto document = JsonDocument::parse(record.payload);
    if (!document) return Error{Code::kCorrupt, "the payload of a record is not JSON"};
    JsonWriter out;
    members(out, document->root(), {});
    return changed_ ? std::optional(std::string(out.text())) : std::nullopt;
  }

 private:
  void text(std::string& in) {
    if (in.empty()) return;
    auto now = replace_(in);
    if (!now || *now == in) return;
    in = std::move(*now);
    changed_ = true;
  }

  // Every string and number of a JSON text; its keys too, since anything can be one.
  void json(std::string& in) {
    if (in.empty()) return;
    if (whole_) {
      const bool is_erased = in == "{}" || in == erased_input();
      if (!is_erased) replace_(in);
      changed_ = changed_ || !is_erased;
      if (!is_erased) in = erased_input();
      return;
    }
    const auto document = JsonDocument::parse(in);
    if (!document) return text(in);
    const bool before = std::exchange(changed_, false);
    JsonWriter out;
    values(out, document->root());
    if (changed_) in = std::string(out.text());
    changed_ = changed_ || before;
  }
  void values(JsonWriter& out, JsonView from) {
    if (from.is_object()) {
      out.begin_object();
      for (std::size_t i = 0; i < from.size(); ++i) {
        std::string key(from.key_at(i));
        text(key);
        out.key(key);
        values(out, from.at(i));
      }
      out.end_object();
    } else if (from.is_array()) {
      out.begin_array();
      for (std::size_t i = 0; i < from.size(); ++i) values(out, from.at(i));
      out.end_array();
    } else if (from.is_string()) {
      std::string value(from.string_or({}));
      text(value);
      out.string(value);
    } else if (from.is_number()) {
      std::string value = from.text();
      const auto now = replace_(value);
      changed_ = changed_ || now;
      if (now)
        out.string(*now);
      else
        out.value(from);
    } else {
      out.value(from);
    }
  }

  // A payload that is no message: the keys that hold texts, wherever they stand.
  void members(JsonWriter& out, JsonView from, std::string_view key) {
    if (from.is_object()) {
      out.begin_object();
      for (std::size_t i = 0; i < from.size(); ++i) {
        out.key(from.key_at(i));
        members(out, from.at(i), from.key_at(i));
      }
      out.end_object();
    } else if (from.is_array()) {
      out.begin_array();
      for (std::size_t i = 0; i < from.size(); ++i) members(out, from.at(i), key);
      out.end_array();
    } else if (from.is_string()) {
      std::string value(from.string_or({}));
      if (is_one_of(key, {"text", "instructions", "error", "title", "note"}) || (reason_is_text_ && key == "reason"))
        text(value);
      else if (key == "input" || (!whole_ && is_one_of(key, {"recipe_state", "output_schema"})))
        json(value);
      else if (!whole_ && key == "options")
        text(value);
      out.string(value);
    } else {
      out.value(from);
    }
  }

  static bool is_file(const Block& block) {
    return block.kind == BlockKind::kImage || block.kind == BlockKind::kDocument;
  }
  static Block erased_block() { return Block::of_text(std::string(kErasedText)); }

  void blocks(std::vector<Block>& in) {
    for (Block& block : in) {
      if (is_file(block) && whole_) {
        replace_(block.text);
        block = erased_block();
        changed_ = true;
        continue;
      }
      text(block.text);
      if (block.kind == BlockKind::kToolUse) json(block.json);
      if (whole_ && !block.parts.empty()) {
        block.parts.clear();
        changed_ = true;
      }
      blocks(block.parts);
    }
  }

  // Signed bytes vouch for a message as it was: a provider refuses them with another text.
  Result<std::optional<std::string>> message(const Record& record) {
    AGENTD_TRY(MessageRecord from, read_message(record));
    std::vector<Block>& all = from.message.blocks;
    const bool has_signed = std::any_of(all.begin(), all.end(), [](const Block& block) {
      return block.kind == BlockKind::kThinking && (!block.opaque.empty() || !block.text.empty());
    });
    blocks(all);
    // A client's name for the message stays with its place, unless it has the text itself.
    if (!whole_) text(from.key);
    if (whole_ && has_signed) changed_ = true;
    if (!changed_) return std::optional<std::string>();
    std::erase_if(all, [&](const Block& block) {
      return block.kind == BlockKind::kThinking && (whole_ || !block.opaque.empty());
    });
    for (Block& block : all)
      if (!is_file(block)) block.opaque.clear();
    if (all.empty()) all.push_back(erased_block());
    Record out = write_message(from);
    return std::optional(std::move(out.payload));
  }

  Result<std::optional<std::string>> result(const Record& record) {
    const bool direct = record.type == RecordType::kDirectResult;
    AGENTD_TRY(ToolResultRecord from, direct ? read_direct_result(record) : read_tool_result(record));
    text(from.text);
    if (whole_ && !from.parts.empty()) {
      from.parts.clear();
      changed_ = true;
    }
    blocks(from.parts);
    if (!changed_) return std::optional<std::string>();
    from.full_bytes = 0;
    Record out = direct ? write_direct_result(from) : write_tool_result(from);
    return std::optional(std::move(out.payload));
  }

  // A record that names no place holds texts that were made of the messages: they are made again, of what is left.
  Result<std::optional<std::string>> checkpoint(const Record& record) {
    AGENTD_TRY(CheckpointRecord from, read_checkpoint(record));
    text(from.name);
    for (CheckpointRecord::Text& each : from.texts) text(each.text);
    if (whole_ && from.why.empty() && !from.texts.empty()) {
      from.texts.clear();
      changed_ = true;
    }
    if (!changed_) return std::optional<std::string>();
    return std::optional(write_checkpoint(from).payload);
  }

  const ReplaceText& replace_;
  const bool whole_;
  bool reason_is_text_ = true;
  bool changed_ = false;
};

}  // namespace

Result<std::optional<std::string>> replace_texts(const Record& record, const ReplaceText& replace) {
  return Replacer(replace, false).run(record);
}

Result<std::optional<std::string>> without_texts(const Record& record) {
  const ReplaceText all = [](std::string_view) { return std::optional(std::string(kErasedText)); };
  return Replacer(all, true).run(record);
}

Result<std::vector<std::string>> texts_of(const Record& record) {
  std::vector<std::string> out;
  const ReplaceText note = [&](std::string_view text) {
    if (!text.empty()) out.emplace_back(text);
    return std::optional<std::string>();
  };
  AGENTD_TRY([[maybe_unused]] const auto unchanged, Replacer(note, false).run(record));
  return out;
}

std::optional<std::string> replaced_in(std::string_view text, std::string_view from, std::string_view to) {
  std::size_t at = from.empty() ? std::string_view::npos : text.find(from);
  if (at == std::string_view::npos) return std::nullopt;
  std::string out;
  std::size_t begin = 0;
  for (; at != std::string_view::npos; at = text.find(from, begin)) {
    out.append(text.substr(begin, at - begin)).append(to);
    begin = at + from.size();
  }
  return out.append(text.substr(begin));
}

std::vector<std::string> written_forms(std::string_view text) {
  std::vector<std::string> out{std::string(text)};
  for (int layers = 0; layers < 2; ++layers) {
    JsonWriter json;
    json.string(out.back());
    std::string form(json.text().substr(1, json.text().size() - 2));
    if (form == out.back()) break;
    out.push_back(std::move(form));
  }
  return out;
}

}  // namespace agentd
