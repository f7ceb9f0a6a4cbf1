// SPDX-License-Identifier: Apache-2.0
#include "providers/google/request.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "providers/common/wire.h"

namespace agentd {
namespace {

// Replaces a required text that is missing.
constexpr std::string_view kNoText = "(no text)";
// ai.google.dev/gemini-api/docs/thought-signatures: for calls that no Gemini model has made.
constexpr std::string_view kNoSignature = "skip_thought_signature_validator";

// The vendor states no length.
constexpr std::size_t kCallIdMax = 200;

class Writer {
 public:
  Writer(JsonWriter& out, const ModelRequest& request, std::string_view provider, const SignatureFilter& keeps)
      : out_(out),
        request_(request),
        provider_(provider),
        keeps_(keeps),
        ids_(request.messages, [](std::string_view id) { return wire_call_id(id, kCallIdMax); }) {}

  Result<void> write() {
    const std::string_view closing = is_blank(request_.closing_text) ? std::string_view() : request_.closing_text;
    if (request_.messages.empty() && closing.empty())
      return Error{Code::kInvalid, "the request has no message to send"};
    out_.begin_object();
    if (!is_blank(request_.system)) {
      out_.key("systemInstruction").begin_object().key("parts").begin_array();
      write_text(request_.system);
      out_.end_array().end_object();
    }
    AGENTD_TRY_VOID(write_tools());
    write_limits();
    write_contents(closing);
    out_.end_object();
    return {};
  }

 private:
  Result<void> write_tools() {
    if (request_.tools.empty()) return {};
    out_.key("tools").begin_array().begin_object().key("functionDeclarations").begin_array();
    for (const ToolSpec& tool : request_.tools) {
      AGENTD_TRY(const std::string schema, wire_schema(tool, SchemaForm::kObject));
      out_.begin_object().member("name", tool.name).optional("description", tool.description);
      if (!tool.input_schema_json.empty()) out_.key("parametersJsonSchema").raw(schema);
      out_.end_object();
    }
    out_.end_array().end_object().end_array();
    if (request_.may_call_tools) return {};
    out_.key("toolConfig").begin_object().key("functionCallingConfig").begin_object();
    out_.member("mode", "NONE").end_object().end_object();
    return {};
  }

  void write_limits() {
    const Thinking& thinking = request_.thinking;
    out_.key("generationConfig").begin_object();
    out_.member("maxOutputTokens", std::max<std::uint64_t>(request_.max_output_tokens, 1) + thinking.room);
    if (thinking.mode == Thinking::Mode::kAdaptive || thinking.mode == Thinking::Mode::kBudget) {
      out_.key("thinkingConfig").begin_object().member("includeThoughts", true);
      if (thinking.mode == Thinking::Mode::kBudget)
        out_.member("thinkingBudget", thinking.budget_tokens);
      else if (!thinking.effort.empty())
        out_.member("thinkingLevel", upper(thinking.effort));
      out_.end_object();
    } else if (thinking.mode == Thinking::Mode::kOff) {
      out_.key("thinkingConfig").begin_object().member("thinkingBudget", 0).end_object();
    }
    if (!request_.output_schema.empty())
      out_.member("responseMimeType", "application/json").key("responseJsonSchema").raw(request_.output_schema);
    out_.end_object();
  }

  static std::string upper(std::string text) {
    for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return text;
  }

  void write_contents(std::string_view closing) {
    const auto groups = group_rows(request_.messages, is_said);
    // Signatures are required after the user's last words.
    std::size_t turn = groups.size();
    while (turn > 0 && (groups[turn - 1].assistant || has_results(groups[turn - 1]))) --turn;
    out_.key("contents").begin_array();
    // The first content must be the user's.
    if (!groups.empty() && groups.front().assistant) {
      begin("user");
      write_text(kNoText);
      end();
    }
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (groups[i].assistant)
        write_answer(groups[i], i >= turn);
      else
        write_user(groups[i], i + 1 == groups.size() ? closing : std::string_view());
    }
    if (groups.empty() || groups.back().assistant) {
      begin("user");
      write_text(closing.empty() ? kNoText : closing);
      end();
    }
    out_.end_array();
  }

  static bool has_results(const WireGroup& group) {
    return std::any_of(group.rows.begin(), group.rows.end(), [](const agentd_message* row) {
      const auto blocks = block_span(*row);
      return std::any_of(blocks.begin(), blocks.end(), is_result);
    });
  }

  void begin(std::string_view role) { out_.begin_object().member("role", role).key("parts").begin_array(); }
  void end() { out_.end_array().end_object(); }

  // No model accepts another's signatures.
  bool is_own(const agentd_message& row) const {
    const Origin* const from = request_.origins == nullptr ? nullptr : request_.origins->of(row.seq);
    return from != nullptr && from->provider == provider_ && from->api == kGenerateContentApi &&
           from->model == request_.model;
  }

  void write_answer(const WireGroup& group, bool signed_calls) {
    begin("model");
    bool first_call = true;
    for (const agentd_message* row : group.rows) {
      const bool own = is_own(*row);
      for (const agentd_block& block : block_span(*row)) {
        std::string_view signature = own ? view_of(block.opaque) : std::string_view();
        if (keeps_ && !signature.empty() && !keeps_(signature)) signature = {};
        if (is_text(block)) {
          out_.begin_object().member("text", full_text(block));
          out_.optional("thoughtSignature", signature).end_object();
        } else if (is_call(block)) {
          if (first_call && signed_calls && signature.empty()) signature = kNoSignature;
          first_call = false;
          write_call(block, signature);
        }
      }
    }
    end();
  }

  void write_call(const agentd_block& call, std::string_view signature) {
    const std::string name = wire_name(view_of(call.name));
    names_[std::string(view_of(call.call_id))] = name;
    const std::string_view input = view_of(call.json);
    const auto object = JsonDocument::parse(input.empty() ? std::string_view("{}") : input);
    out_.begin_object().key("functionCall").begin_object();
    out_.member("id", ids_.of(call)).member("name", name).key("args");
    if (object && object->root().is_object())
      out_.value(object->root());
    else
      out_.begin_object().member("raw", input).end_object();
    out_.end_object().optional("thoughtSignature", signature).end_object();
  }

  void write_user(const WireGroup& group, std::string_view closing) {
    begin("user");
    for (const agentd_message* row : group.rows)
      for (const agentd_block& block : block_span(*row))
        if (is_result(block)) write_result(block);
    for (const agentd_message* row : group.rows)
      for (const agentd_block& block : block_span(*row)) {
        if (is_text(block)) write_text(full_text(block));
        if (is_media(block)) write_media(block);
      }
    if (!closing.empty()) write_text(closing);
    end();
  }

  void write_result(const agentd_block& result) {
    const auto name = names_.find(std::string(view_of(result.call_id)));
    std::string text(is_blank(full_text(result)) ? std::string_view() : full_text(result));
    for (const agentd_block& part : part_span(result))
      if (is_text(part)) text.append(text.empty() ? "" : "\n\n").append(full_text(part));
    out_.begin_object().key("functionResponse").begin_object();
    out_.member("id", ids_.of(result));
    out_.member("name", name == names_.end() ? std::string("tool") : name->second);
    out_.key("response").begin_object();
    out_.member((result.flags & AGENTD_BLOCK_ERROR) != 0 ? "error" : "output",
                text.empty() ? std::string(kNoText) : text);
    out_.end_object().end_object().end_object();
    for (const agentd_block& part : part_span(result))
      if (is_media(part)) write_media(part);
  }

  void write_media(const agentd_block& media) {
    out_.begin_object().key("inlineData").begin_object();
    out_.member("mimeType", view_of(media.name)).member("data", view_of(media.opaque));
    out_.end_object().end_object();
  }

  void write_text(std::string_view text) { out_.begin_object().member("text", text).end_object(); }

  JsonWriter& out_;
  const ModelRequest& request_;
  const std::string_view provider_;
  const SignatureFilter& keeps_;
  const CallIds ids_;
  std::map<std::string, std::string> names_;  // of tools, by their call ids
};

}  // namespace

Result<void> write_google_request(JsonWriter& out, const ModelRequest& request, std::string_view provider,
                                  const SignatureFilter& keeps) {
  return Writer(out, request, provider, keeps).write();
}

}  // namespace agentd
