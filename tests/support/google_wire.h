// SPDX-License-Identifier: Apache-2.0
#pragma once
// google_wire.h - event streams of Gemini's streamGenerateContent, built chunk by chunk.
//
// Format: ai.google.dev/api/generate-content.
//
// Threading: values.

#include <string>
#include <string_view>
#include <vector>

namespace agentd::testing {

class GoogleWire {
 public:
  GoogleWire& text(const std::vector<std::string>& pieces, std::string_view signature = {});
  GoogleWire& thinking(const std::vector<std::string>& pieces);
  // Empty `id`: none comes, as from older models.
  GoogleWire& call(std::string_view id, std::string_view name, std::string_view args, std::string_view signature = {});
  GoogleWire& finish(std::string_view reason,
                     std::string_view usage_json = R"({"promptTokenCount":25,"candidatesTokenCount":15})");
  // A prompt that is not answered.
  GoogleWire& blocked(std::string_view reason);
  GoogleWire& data(std::string_view json);
  const std::string& bytes() const { return bytes_; }

 private:
  void part(std::string_view members);
  std::string bytes_;
};

// The body of an error answer: google.rpc.Status as JSON.
std::string google_error_body(int code, std::string_view status, std::string_view message);

struct GoogleRules {
  // Signatures are read only by the model whose name they begin with: "gemini-3.8-flash/1".
  bool own_signatures_alone = false;
};
// What a strict server says to a request for `model` that breaks a rule of the wire
// (providers/google/rules.h); empty = it is accepted.
std::string google_refusal(std::string_view model, std::string_view body, const GoogleRules& rules = {});

}  // namespace agentd::testing
