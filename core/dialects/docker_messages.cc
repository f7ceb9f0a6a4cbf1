// SPDX-License-Identifier: Apache-2.0
// docker_messages.cc - the history in docker-agent's form, and a rewritten history back in agentd's.
#include <algorithm>

#include "core/dialects/docker.h"
#include "core/dialects/replacement.h"

namespace agentd {
namespace {

std::string texts_of_type(JsonView blocks, std::string_view type) {
  std::string out;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const JsonView block = blocks.at(i);
    if (block["type"].string_or("") != type) continue;
    if (!out.empty()) out += "\n\n";
    out += block["text"].string_or("");
  }
  return out;
}

bool has_block(JsonView blocks, std::string_view type) {
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (blocks.at(i)["type"].string_or("") == type) return true;
  return false;
}

void write_tool_calls(JsonWriter& out, JsonView blocks) {
  if (!has_block(blocks, "tool_use")) return;
  out.key("tool_calls").begin_array();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const JsonView block = blocks.at(i);
    if (block["type"].string_or("") != "tool_use") continue;
    const std::string_view tool = block["name"].string_or("");
    out.begin_object().member("id", block["call_id"].string_or("")).member("type", "function");
    out.key("function").begin_object().member("name", foreign_tool(Dialect::kDocker, tool));
    out.member("arguments", foreign_input(Dialect::kDocker, tool, block["input"]));
    out.end_object().end_object();
  }
  out.end_array();
}

void write_images(JsonWriter& out, JsonView blocks, std::string_view text) {
  if (!has_block(blocks, "image")) return;
  out.key("multi_content").begin_array();
  if (!text.empty()) out.begin_object().member("type", "text").member("text", text).end_object();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const JsonView block = blocks.at(i);
    if (block["type"].string_or("") != "image") continue;
    out.begin_object().member("type", "image_url").key("image_url").begin_object();
    out.member("url", "data:" + std::string(block["media_type"].string_or("")) + ";base64," +
                          std::string(block["data"].string_or("")));
    out.end_object().end_object();
  }
  out.end_array();
}

std::string assistant_message(JsonView message) {
  const JsonView blocks = message["blocks"];
  JsonWriter out;
  out.begin_object().member("role", "assistant");
  out.member("content",
             blocks.is_array() ? texts_of_type(blocks, "text") : std::string(message["content"].string_or("")));
  out.optional("reasoning_content", texts_of_type(blocks, "thinking"));
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (blocks.at(i)["signature"].is_string()) {
      out.member("thinking_signature", blocks.at(i)["signature"].string_or(""));
      break;
    }
  write_tool_calls(out, blocks);
  out.end_object();
  return std::string(out.text());
}

std::string tool_message(JsonView block) {
  JsonWriter out;
  out.begin_object().member("role", "tool").member("content", block["text"].string_or(""));
  out.member("tool_call_id", block["call_id"].string_or(""));
  if (block["is_error"].bool_or(false)) out.member("is_error", true);
  out.end_object();
  return std::string(out.text());
}

// docker-agent has one message per tool result; agentd's message carries all results of a turn.
std::vector<std::string> docker_forms(JsonView message) {
  if (message["role"].string_or("") == "assistant") return {assistant_message(message)};
  std::vector<std::string> out;
  const JsonView blocks = message["blocks"];
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (blocks.at(i)["type"].string_or("") == "tool_result") out.push_back(tool_message(blocks.at(i)));
  const std::string text =
      blocks.is_array() ? texts_of_type(blocks, "text") : std::string(message["content"].string_or(""));
  if (!out.empty() && text.empty() && !has_block(blocks, "image")) return out;
  JsonWriter writer;
  writer.begin_object().member("role", "user").member("content", text);
  write_images(writer, blocks, text);
  writer.end_object();
  out.emplace_back(writer.text());
  return out;
}

// The identity of a message does not depend on the order of its keys.
std::string message_identity(JsonView message) {
  JsonWriter out;
  out.begin_array();
  for (const std::string_view key :
       {"role", "content", "tool_call_id", "reasoning_content", "tool_calls", "multi_content"})
    out.value(message[key]);
  out.end_array();
  return std::string(out.text());
}

struct Known {
  std::uint64_t seq = 0;
  std::vector<std::string> identities;
};

std::vector<Known> known_messages(JsonView payload) {
  std::vector<Known> out;
  const JsonView messages = payload["messages"];
  for (std::size_t i = 0; i < messages.size(); ++i) {
    Known known;
    known.seq = messages.at(i)["seq"].uint_or(0);
    for (const std::string& form : docker_forms(messages.at(i)))
      if (const auto parsed = JsonDocument::parse(form)) known.identities.push_back(message_identity(parsed->root()));
    out.push_back(std::move(known));
  }
  return out;
}

// ---- one literal

void write_text_block(JsonWriter& out, std::string_view text) {
  if (!text.empty()) out.begin_object().member("type", "text").member("text", text).end_object();
}

void write_image_block(JsonWriter& out, std::string_view url) {
  const std::size_t comma = url.find(";base64,");
  if (url.substr(0, 5) != "data:" || comma == std::string_view::npos) return;
  out.begin_object().member("type", "image").member("media_type", url.substr(5, comma - 5));
  out.member("data", url.substr(comma + 8)).end_object();
}

void write_docker_content(JsonWriter& out, JsonView message) {
  const JsonView parts = message["multi_content"];
  if (!parts.is_array() || parts.size() == 0) return write_text_block(out, message["content"].string_or(""));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    write_text_block(out, parts.at(i)["text"].string_or(""));
    write_image_block(out, parts.at(i)["image_url"]["url"].string_or(""));
  }
}

void write_assistant(JsonWriter& out, JsonView message) {
  out.begin_object().member("role", "assistant").key("blocks").begin_array();
  if (message["thinking_signature"].is_string()) {
    out.begin_object().member("type", "thinking");
    out.member("text", message["reasoning_content"].string_or(""));
    out.member("signature", message["thinking_signature"].string_or("")).end_object();
  }
  write_docker_content(out, message);
  const JsonView calls = message["tool_calls"];
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const JsonView call = calls.at(i);
    const std::string tool = canonical_tool(Dialect::kDocker, call["function"]["name"].string_or(""));
    const auto arguments = JsonDocument::parse(call["function"]["arguments"].string_or("{}"));
    out.begin_object().member("type", "tool_use").member("call_id", call["id"].string_or(""));
    out.member("name", tool).key("input");
    if (arguments && arguments->root().is_object())
      out.raw(canonical_input(Dialect::kDocker, tool, arguments->root()));
    else
      out.null();
    out.end_object();
  }
  out.end_array().end_object();
}

void write_result(JsonWriter& out, JsonView message) {
  out.begin_object().member("type", "tool_result");
  out.member("call_id", message["tool_call_id"].string_or(""));
  out.member("text", message["content"].string_or(""));
  if (message["is_error"].bool_or(false)) out.member("is_error", true);
  out.end_object();
}

// Compares the rewritten history with the payload and writes the input of replacement_parts().
class Rewritten {
 public:
  Rewritten(JsonView messages, JsonView payload, VerdictMaker& verdict)
      : messages_(messages), payload_(payload), verdict_(verdict), known_(known_messages(payload)) {}

  // Returns true if anything changed; `out` is then the list of parts.
  bool walk(JsonWriter& out) {
    out.begin_array();
    for (std::size_t at = 0; at < messages_.size() && !verdict_.failed();) at = step(out, at);
    out.end_array();
    return changed_ || kept_ != known_.size();
  }

 private:
  std::size_t step(JsonWriter& out, std::size_t at) {
    const JsonView message = messages_.at(at);
    const std::string_view role = message["role"].string_or("");
    if (role == "system") {
      take_system(message["content"].string_or(""));
      return at + 1;
    }
    if (const std::size_t count = keep(out, at); count != 0) return at + count;
    changed_ = true;
    if (role == "tool") return write_results(out, at);
    if (role == "assistant") {
      write_assistant(out, message);
    } else if (role == "user") {
      out.begin_object().member("role", "user").key("blocks").begin_array();
      write_docker_content(out, message);
      out.end_array().end_object();
    } else {
      verdict_.fail("updated_messages[" + std::to_string(at) + "]: the role " + in_quotes(role) +
                    " is not system, user, assistant or tool");
    }
    return at + 1;
  }

  // The number of messages from `at` on that are together one message of the payload, after those kept so far.
  std::size_t keep(JsonWriter& out, std::size_t at) {
    const std::string first = message_identity(messages_.at(at));
    for (std::size_t i = next_; i < known_.size(); ++i) {
      if (known_[i].seq == 0 || known_[i].identities.front() != first || !same(known_[i], at)) continue;
      next_ = i + 1;
      ++kept_;
      out.begin_object().key("keep").begin_object().member("first", known_[i].seq);
      out.member("last", known_[i].seq).end_object().end_object();
      return known_[i].identities.size();
    }
    return 0;
  }

  bool same(const Known& known, std::size_t at) const {
    if (at + known.identities.size() > messages_.size()) return false;
    for (std::size_t i = 1; i < known.identities.size(); ++i)
      if (message_identity(messages_.at(at + i)) != known.identities[i]) return false;
    return true;
  }

  std::size_t write_results(JsonWriter& out, std::size_t at) {
    out.begin_object().member("role", "user").key("blocks").begin_array();
    for (; at < messages_.size() && messages_.at(at)["role"].string_or("") == "tool"; ++at)
      write_result(out, messages_.at(at));
    out.end_array().end_object();
    return at;
  }

  // The system prompt is not part of agentd's history. Additional system messages become context.
  void take_system(std::string_view text) {
    const std::string_view own = payload_["system"].string_or("");
    if (text == own) {
      seen_system_ = true;
    } else if (!seen_system_ && !own.empty()) {
      seen_system_ = true;
      verdict_.warn("agentd cannot rewrite the system prompt; that part of updated_messages was ignored");
    } else {
      verdict_.context(text, "a system message in updated_messages");
    }
  }

  JsonView messages_, payload_;
  VerdictMaker& verdict_;
  const std::vector<Known> known_;
  std::size_t next_ = 0, kept_ = 0;
  bool changed_ = false, seen_system_ = false;
};

}  // namespace

std::string docker_messages(JsonView payload) {
  JsonWriter out;
  out.begin_array();
  if (const std::string_view system = payload["system"].string_or(""); !system.empty())
    out.begin_object().member("role", "system").member("content", system).end_object();
  const JsonView messages = payload["messages"];
  for (std::size_t i = 0; i < messages.size(); ++i)
    for (const std::string& form : docker_forms(messages.at(i))) out.raw(form);
  out.end_array();
  return std::string(out.text());
}

void take_docker_messages(JsonView messages, JsonView payload, VerdictMaker& verdict) {
  JsonWriter out;
  if (!Rewritten(messages, payload, verdict).walk(out) || verdict.failed()) return;
  const auto list = JsonDocument::parse(out.text());
  if (!list) return verdict.fail(list.error().message);
  auto parts = replacement_parts(list->root());
  if (!parts) return verdict.fail("updated_messages: " + parts.error().message);
  Action action;
  action.kind = AGENTD_ACT_REPLACE_MESSAGES;
  action.base_revision = payload["revision"].uint_or(0);
  action.parts = std::move(*parts);
  verdict.add(std::move(action), "updated_messages");
}

}  // namespace agentd
