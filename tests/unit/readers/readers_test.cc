// SPDX-License-Identifier: Apache-2.0
// What a tool's input may be is what jq, Python and Node read as well, with the same value: hooks
// are written in them, and the one that is asked must judge what the tool will read.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <iostream>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/conversation/tool_input.h"
#include "tests/support/temp_dir.h"

namespace agentd {
namespace {

constexpr int kTexts = 6'000;

// Texts that are nearly JSON: with everything in them about which readers differ.
class NearJson {
 public:
  explicit NearJson(std::uint64_t seed) : random_(seed) {}

  std::string text() {
    std::string out = one_in(20) ? value(0) : object(0);
    if (one_in(4)) mutate(out);
    return out;
  }

 private:
  std::size_t below(std::size_t limit) { return random_() % limit; }
  bool one_in(std::size_t n) { return below(n) == 0; }
  std::string pick(const std::vector<std::string>& from) { return from[below(from.size())]; }

  std::string blank() {
    return one_in(5) ? pick({" ", "\n", "\t", "\r\n", "  \n\t", one_in(20) ? "\v" : "", one_in(20) ? "\f" : ""}) : "";
  }
  std::string digits(std::size_t most) {
    std::string out;
    for (std::size_t i = 0, n = 1 + below(most); i < n; ++i) out += static_cast<char>('0' + below(10));
    return out;
  }
  std::string number() {
    if (one_in(6))
      return pick({"0",
                   "-0",
                   "0.0",
                   "-0.0",
                   "-0e5",
                   "1e0",
                   "1E+2",
                   "9007199254740992",
                   "9007199254740993",
                   "-9007199254740992",
                   "-9007199254740993",
                   "9007199254740991.5",
                   "18446744073709551615",
                   "1e308",
                   "1.7976931348623157e308",
                   "1.8e308",
                   "1e999",
                   "5e-324",
                   "2e-324",
                   "1e-400",
                   "2.2250738585072011e-308",
                   "0.1",
                   "1e23",
                   "8.41e21",
                   "9.5e-7",
                   "123456789012345680000.0",
                   "NaN",
                   "Infinity",
                   "-Infinity",
                   "01",
                   "+1",
                   ".5",
                   "1.",
                   "1e",
                   "0x10",
                   "1_000",
                   "--1"});
    std::string out = (one_in(3) ? "-" : "") + digits(one_in(4) ? 25 : 8);
    if (one_in(3)) out += "." + digits(one_in(4) ? 25 : 6);
    if (one_in(4)) out += pick({"e", "E", "e+", "e-", "E-"}) + digits(one_in(6) ? 4 : 2);
    return out;
  }
  std::string piece() {
    switch (below(8)) {
      case 0:
        return pick({"\\n", "\\t", "\\\"", "\\\\", "\\/", "\\b", "\\f", "\\r", "\\u0000", "\\u001f", "\\u007F"});
      case 1:
        return pick({"\\ud83d\\ude00", "\\uD800\\uDC00", "\\udbff\\udfff", "\\u00e9", "\\uFFFF", "\\ufeff"});
      case 2:
        return one_in(6)
                   ? pick({"\\ud800", "\\udc00", "\\ud83d\\n", "\\udc00\\ud800", "\\x41", "\\u12", "\\a", "\\", "\n",
                           "\x01", std::string(1, '\0'), "\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80"})
                   : "z";
      case 3:
        return pick({"\xC3\xA9", "\xF0\x9F\x98\x80", "\xE2\x80\xA8", "\xC2\x85", "\x7F", "\xEF\xBB\xBF"});
      default:
        return pick({"a", "b", "path", "command", " ", "__proto__", "1", "rm -rf /", "'"});
    }
  }
  std::string string() {
    std::string out = "\"";
    for (std::size_t i = 0, n = below(4); i < n; ++i) out += piece();
    return out + "\"";
  }
  std::string key() {
    return one_in(2) ? pick({"\"a\"", "\"b\"", "\"\"", "\"command\"", "\"c\\u006fmmand\"", "\"1\"", "\"__proto__\""})
                     : string();
  }
  std::string nested() {
    const std::size_t levels = 55 + below(20);
    const bool lists = one_in(2);
    std::string out;
    for (std::size_t i = 0; i < levels; ++i) out += lists ? "[" : "{\"a\":";
    out += "1";
    for (std::size_t i = 0; i < levels; ++i) out += lists ? "]" : "}";
    return out;
  }
  std::string value(int depth) {
    if (one_in(200)) return nested();
    switch (depth > 5 ? below(4) : below(6)) {
      case 0:
        return pick({"true", "false", "null", "null", one_in(10) ? "True" : "true", one_in(10) ? "undefined" : "1"});
      case 1:
        return number();
      case 2:
      case 3:
        return string();
      case 4:
        return list(depth);
      default:
        return object(depth);
    }
  }
  std::string list(int depth) {
    std::string out = "[" + blank();
    for (std::size_t i = 0, n = below(4); i < n; ++i) out += (i == 0 ? "" : ",") + blank() + value(depth + 1) + blank();
    if (one_in(60)) out += ",";
    return out + "]";
  }
  std::string object(int depth) {
    std::string out = "{" + blank();
    for (std::size_t i = 0, n = below(4); i < n; ++i)
      out += (i == 0 ? "" : ",") + blank() + key() + blank() + ":" + blank() + value(depth + 1) + blank();
    if (one_in(60)) out += pick({",", "//x", "/*x*/", "#x"});
    return out + "}" + blank();
  }
  void mutate(std::string& text) {
    const std::size_t at = below(text.size() + 1);
    switch (below(6)) {
      case 0:
        text.insert(0, pick({"\xEF\xBB\xBF", "\xFF\xFE", std::string(1, '\0'), "\x1E", "(", "a="}));
        break;
      case 1:
        text += pick({std::string(1, '\0'), std::string("\0{}", 3), "{}", "x", ";", "\xEF\xBB\xBF", ",", "\x1A"});
        break;
      case 2:
        text.erase(at, 1 + below(3));
        break;
      case 3:
        text.insert(at, pick({"\"", "{", "}", "[", "]", ",", ":", "\\", "0", "-", "e", ".", "\x80"}));
        break;
      default:
        if (at < text.size()) text[at] = static_cast<char>(below(256));
    }
  }

  std::mt19937_64 random_;
};

std::string hex_of(std::string_view text) {
  return hex(std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

// A value as all the readers below print it: members sorted, numbers as the bits of a double.
std::string dump(JsonView value) {
  if (value.is_null()) return "n";
  if (value.is_bool()) return value.bool_or(false) ? "t" : "f";
  if (value.is_number()) {
    std::ostringstream bits;
    bits << std::hex << std::bit_cast<std::uint64_t>(value.number_or(0) + 0.0);
    return "d" + bits.str();
  }
  if (value.is_string()) return "s" + hex_of(value.string_or(""));
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < value.size(); ++i)
    parts.push_back((value.is_object() ? hex_of(value.key_at(i)) + ":" : "") + dump(value.at(i)));
  if (value.is_object()) std::sort(parts.begin(), parts.end());
  std::string out = value.is_object() ? "{" : "[";
  for (const std::string& part : parts) out += part + ",";
  return out + (value.is_object() ? "}" : "]");
}

constexpr const char* kPython = R"(
import json, struct, sys
def dump(v):
    if v is None: return 'n'
    if v is True: return 't'
    if v is False: return 'f'
    if isinstance(v, (int, float)):
        return 'd%x' % struct.unpack('>Q', struct.pack('>d', float(v) + 0.0))
    if isinstance(v, str): return 's' + v.encode().hex()
    if isinstance(v, list): return '[' + ''.join(dump(e) + ',' for e in v) + ']'
    parts = sorted(k.encode().hex() + ':' + dump(e) for k, e in v.items())
    return '{' + ''.join(p + ',' for p in parts) + '}'
for line in sys.stdin:
    text = bytes.fromhex(line.strip()).decode() if sys.argv[1] == 'hex' else line
    try: print(dump(json.loads(text)))
    except Exception as e: print('refused:', repr(e))
)";

constexpr const char* kNode = R"(
const bits = new DataView(new ArrayBuffer(8));
const hex = t => Buffer.from(t, 'utf8').toString('hex');
function dump(v) {
  if (v === null) return 'n';
  if (typeof v === 'boolean') return v ? 't' : 'f';
  if (typeof v === 'number') {
    bits.setFloat64(0, v + 0);
    return 'd' + bits.getBigUint64(0).toString(16);
  }
  if (typeof v === 'string') return 's' + hex(v);
  if (Array.isArray(v)) return '[' + v.map(e => dump(e) + ',').join('') + ']';
  const parts = Object.keys(v).map(k => hex(k) + ':' + dump(v[k])).sort();
  return '{' + parts.map(p => p + ',').join('') + '}';
}
for (const line of require('fs').readFileSync(0, 'latin1').split('\n')) {
  if (line === '') continue;
  try { console.log(dump(JSON.parse(Buffer.from(line, 'hex').toString('utf8')))); }
  catch (e) { console.log('refused: ' + e); }
}
)";

// What a machine may lack. With CI set it must be there.
bool installed(const char* program) {
  const std::string command = "command -v " + std::string(program) + " >/dev/null 2>&1";
  if (std::system(command.c_str()) == 0) return true;
  if (std::getenv("CI") != nullptr) ADD_FAILURE() << program << " must be installed with CI set";
  std::cout << "not compared, since it is not installed: " << program << "\n";
  return false;
}

class Readers : public ::testing::Test {
 protected:
  std::vector<std::string> lines_of(const std::string& command) {
    EXPECT_EQ(std::system((command + " > " + directory_.file("out")).c_str()), 0) << command;
    std::vector<std::string> lines;
    std::istringstream all(directory_.read("out"));
    for (std::string line; std::getline(all, line);) lines.push_back(line);
    return lines;
  }
  testing::TempDir directory_;
};

TEST_F(Readers, ReadWhatIsAcceptedAndReadTheSame) {
  const char* const given = std::getenv("AGENTD_TEST_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::cout << "AGENTD_TEST_SEED=" << seed << "\n";
  NearJson texts(seed);
  std::vector<std::string> accepted, expected;
  std::string as_hex, as_they_are;
  for (int i = 0; i < kTexts; ++i) {
    const std::string text = texts.text();
    const auto input = ToolInput::make(text);
    if (!input || text.empty()) continue;  // no bytes at all stand for an empty object
    const auto again = ToolInput::make(input->text());
    ASSERT_TRUE(again) << input->text();
    ASSERT_EQ(again->text(), input->text());
    const auto read = JsonDocument::parse(input->text());
    ASSERT_TRUE(read) << input->text();
    accepted.push_back(text);
    expected.push_back(dump(read->root()));
    as_hex += hex_of(text) + "\n";
    as_they_are += text + "\n";
  }
  std::cout << accepted.size() << " of " << kTexts << " texts accepted\n";
  ASSERT_GT(accepted.size(), kTexts / 5u);
  ASSERT_LT(accepted.size(), kTexts * 9u / 10u);

  const std::string hex_file = directory_.write("hex", as_hex);
  const std::string file = directory_.write("json", as_they_are);
  const std::string python = directory_.write("dump.py", kPython);
  const std::string node = directory_.write("dump.cjs", kNode);
  std::vector<std::pair<std::string, std::string>> readers;
  const bool has_python = installed("python3");
  if (has_python) readers.emplace_back("Python", "python3 " + python + " hex < " + hex_file);
  if (installed("node")) readers.emplace_back("Node", "node " + node + " < " + hex_file);
  if (installed("jq") && has_python) readers.emplace_back("jq", "jq -c . " + file + " | python3 " + python + " json");
  for (const auto& [name, command] : readers) {
    const std::vector<std::string> got = lines_of(command);
    ASSERT_EQ(got.size(), expected.size()) << name;
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(got[i], expected[i]) << name << " of " << ::testing::PrintToString(accepted[i]);
  }
}

}  // namespace
}  // namespace agentd
