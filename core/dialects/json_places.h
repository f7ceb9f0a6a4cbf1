// SPDX-License-Identifier: Apache-2.0
#pragma once
// json_places.h - line numbers of values in a JSON file, and JSON with comments as used in settings.
//
// The JSON parser keeps no positions, but a problem with a hook needs its line, and hooks are named by it.
//
// Threading: JsonPlaces is immutable; the functions are pure.

#include <map>
#include <string>
#include <string_view>

namespace agentd {

class JsonPlaces {
 public:
  // REQUIRES: `json` is valid JSON.
  explicit JsonPlaces(std::string_view json);
  // The 1-based line of the value at a path such as "/hooks/PreToolUse/0/matcher"; if there is none, the line of the
  // nearest enclosing value.
  int line(std::string_view path) const;
  // The path of the first key that is repeated in its object; empty = none. JSON readers differ in which of the two
  // they use.
  const std::string& twice() const { return twice_; }

 private:
  std::map<std::string, int, std::less<>> lines_;
  std::string twice_;
};

// Replaces comments (// and /* */), and commas before a closing bracket, with blanks of the same length.
std::string without_comments(std::string_view text);

// "bad JSON at byte 17: ..." as "FILE:LINE:COLUMN: bad JSON: ...".
std::string json_mistake(std::string_view path, std::string_view text, std::string_view message);

}  // namespace agentd
