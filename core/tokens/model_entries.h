// SPDX-License-Identifier: Apache-2.0
#pragma once
// model_entries.h - the user's own model table as parsed from the file. Private to this room.
//
// Threading: values.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/tokens/tokens.h"

namespace agentd {

// The file: "default" and "models". Missing keys are not set.
struct ModelEntries {
  struct Entry {
    std::string pattern, origin;
    std::optional<std::string> provider, summary_model, encoding, default_effort, thinking_off;
    std::optional<std::string> retires, successor;
    std::optional<ThinkingKind> thinking;
    std::optional<std::vector<std::string>> efforts;
    std::optional<bool> thinking_back, sampling, images, documents;
    std::optional<std::uint64_t> window, max_output, output_reserve;
    std::optional<double> checkpoint_at, compact_at, force_at;
    std::map<std::string, std::uint64_t> betas;
    std::optional<Prices> prices;

    void apply(ModelInfo& to) const;
  };
  Entry otherwise;  // for models without a matching pattern
  std::vector<Entry> models;
};

// kInvalid: "FILE:LINE:COLUMN: unknown key 'x': did you mean 'y'?", or a value of the wrong type.
Result<ModelEntries> read_model_entries(std::string_view yaml, std::string_view file);

}  // namespace agentd
