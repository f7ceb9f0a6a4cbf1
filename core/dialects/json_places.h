// SPDX-License-Identifier: Apache-2.0
#pragma once
// json_places.h - the lines of a JSON file, and JSON as people write it in settings.
//
// The parser keeps no places; a problem with a hook is of little use without its line, and the hook
// itself is named by it.
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
  // The 1-based line of a value by its path, "/hooks/PreToolUse/0/matcher"; that of the nearest
  // value around it when there is no such one.
  int line(std::string_view path) const;
  // The path of the first key that stands twice in its object; empty = there is none. Readers of JSON differ in which
  // of the two counts.
  const std::string& twice() const { return twice_; }

 private:
  std::map<std::string, int, std::less<>> lines_;
  std::string twice_;
};

// Comments (// and /* */) become blanks of the same length, and so do commas before a closing
// bracket.
std::string without_comments(std::string_view text);

// "bad JSON at byte 17: ..." as "FILE:LINE:COLUMN: bad JSON: ...".
std::string json_mistake(std::string_view path, std::string_view text, std::string_view message);

}  // namespace agentd
