// SPDX-License-Identifier: Apache-2.0
// redact: replaces secrets in tool output, the user's text and answers with "[redacted:RULE]" before the model, the log
// or another hook sees them.
//
// config:
//   targets  some of tool_output, user_text, response, tool_input; default all but tool_input, since a
//            change of the input changes the tool's action
//   rules    {disable: [ids]} of built-in rules
//   extra    [{id, pattern}]: the user's RE2 expressions; the first group, if any, is the secret
// Its rows are declared REDACTS: if it fails, the unchecked text is withheld. The log gets counts and rule ids, never a
// text. It runs before other hooks, so that no other hook receives a secret.
//
// The host makes summaries from messages that were redacted here; the model's thinking and tool inputs were not.

#define AGENTD_TARGET_MINOR 1u  // calls that only read may overlap

#include <agentd/hook.hpp>

#include <optional>
#include <string>
#include <string_view>

#include "core/codec/json.h"
#include "core/scrub/scrubber.h"
#include "plugins/redact/settings.h"

namespace redact {
namespace {

using agentd::JsonDocument;
using agentd::JsonView;
using agentd::JsonWriter;
using agentd::Result;
using agentd::Scrubbed;
using agentd::Scrubber;

// Redacts each text of an input on its own, where the complete text could not be changed.
class InputWriter {
 public:
  explicit InputWriter(const Scrubber& scrubber) : scrubber_(scrubber) {}

  Result<std::string> write(JsonView root) {
    value(root);
    if (failed_) return *failed_;
    return std::string(out_.text());
  }

 private:
  void value(JsonView from) {
    if (from.is_object()) {
      out_.begin_object();
      for (std::size_t i = 0; i < from.size(); ++i) {
        out_.key(from.key_at(i));
        value(from.at(i));
      }
      out_.end_object();
    } else if (from.is_array()) {
      out_.begin_array();
      for (std::size_t i = 0; i < from.size(); ++i) value(from.at(i));
      out_.end_array();
    } else if (from.is_string()) {
      auto clean = scrubber_.scrub(from.string_or(""));
      if (!clean) failed_ = clean.error();
      out_.string(clean ? clean->text : "");
    } else {
      out_.value(from);
    }
  }

  const Scrubber& scrubber_;
  JsonWriter out_;
  std::optional<agentd::Error> failed_;
};

std::string told(const Scrubbed& clean) {
  std::string out;
  for (const auto& [rule, count] : clean.counts())
    out += (out.empty() ? "" : ", ") + rule + " " + std::to_string(count);
  return out;
}

class Redact {
 public:
  static constexpr unsigned hook_flags = AGENTD_HOOK_REDACTS;
  static constexpr int hook_priority = 1000;
  static constexpr unsigned concurrency = AGENTD_CONCURRENT;

  explicit Redact(agentd::init& from) {
    Settings settings;
    if (const auto wrong = read_settings(from.config_json(), settings)) {
      from.refuse(*wrong);
      return;
    }
    targets_ = settings.targets;
    auto made = Scrubber::make(std::move(settings.rules));
    if (!made) {
      from.refuse(made.error().code == agentd::Code::kUnavailable ? AGENTD_E_IO : AGENTD_E_ARG, made.error().message);
      return;
    }
    // A missing library is reported now, not in the middle of a run.
    if (const auto ready = made->prepare(); !ready) {
      from.refuse(AGENTD_E_IO, ready.error().message);
      return;
    }
    scrubber_.emplace(std::move(*made));
  }

  agentd_status on_after_tool_call(agentd::call& c, agentd::tool_view tool) const {
    return clean(c, kToolOutput, tool.result().content(), "output of " + std::string(tool.name()));
  }
  agentd_status on_tool_call_failed(agentd::call& c, agentd::tool_view tool) const {
    const std::string_view content = tool.result().content();
    return clean(c, kToolOutput, content.empty() ? tool.result().error() : content,
                 "output of " + std::string(tool.name()));
  }
  agentd_status on_user_message_send(agentd::call& c, agentd::user_message_view message) const {
    return clean(c, kUserText, message.text(), "message");
  }
  agentd_status on_after_model_call(agentd::call& c, agentd::model_response_view response) const {
    return clean(c, kResponse, response.text(), "answer");
  }
  agentd_status on_before_tool_call(agentd::call& c, agentd::tool_view tool) const {
    if ((targets_ & kToolInput) == 0) return AGENTD_OK;
    auto whole = scrubber_->scrub(tool.input_json());
    if (!whole) return c.fail(AGENTD_E_IO, whole.error().message);
    if (whole->findings.empty()) return AGENTD_OK;
    if (!JsonDocument::parse(whole->text)) {
      const auto parsed = JsonDocument::parse(tool.input_json());
      if (!parsed) return c.fail(AGENTD_E_ARG, "the tool's input is not valid JSON");
      auto each = InputWriter(*scrubber_).write(parsed->root());
      if (!each) return c.fail(AGENTD_E_IO, each.error().message);
      whole->text = std::move(*each);
    }
    return rewrite(c, *whole, "input of " + std::string(tool.name()));
  }

 private:
  agentd_status clean(agentd::call& c, Target target, std::string_view text, const std::string& what) const {
    if ((targets_ & target) == 0 || text.empty()) return AGENTD_OK;
    const auto clean = scrubber_->scrub(text);
    if (!clean) return c.fail(AGENTD_E_IO, clean.error().message);
    return clean->findings.empty() ? AGENTD_OK : rewrite(c, *clean, what);
  }

  static agentd_status rewrite(agentd::call& c, const Scrubbed& clean, const std::string& what) {
    c.log_info("redacted in the " + what + ": " + told(clean));
    return c.rewrite(clean.text);
  }

  std::uint32_t targets_ = 0;
  std::optional<Scrubber> scrubber_;
};

}  // namespace
}  // namespace redact

using redact::Redact;
AGENTD_HOOK_MANIFEST(
    Redact, "agentd.redact", "1.0.0",
    R"("license":"Apache-2.0","capabilities":["redact"],"config_schema":{"type":"object","additionalProperties":false,)"
    R"("properties":{"targets":{"type":"array","minItems":1,"items":{"enum":["tool_output",)"
    R"("user_text","response","tool_input"]},"default":["tool_output","user_text","response"]},)"
    R"("rules":{"type":"object","additionalProperties":false,"properties":{"disable":)"
    R"({"type":"array","items":{"type":"string"}}}},"extra":{"type":"array","items":)"
    R"({"type":"object","additionalProperties":false,"required":["id","pattern"],"properties":)"
    R"({"id":{"type":"string"},"pattern":{"type":"string"}}}}}})")
