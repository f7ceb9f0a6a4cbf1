// SPDX-License-Identifier: Apache-2.0
#pragma once
// bytes.h - text and bytes: valid UTF-8, hexadecimal, big-endian numbers.
//
// Threading: pure functions.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace agentd {

// True for well-formed UTF-8: no overlong forms, no surrogates (Unicode 15, table 3-7).
bool is_utf8(std::string_view text);
// The number of well-formed UTF-8 bytes at the start: all of them, or up to the first ill-formed part.
std::size_t utf8_bytes(std::string_view text);
// The text with every ill-formed part replaced by one U+FFFD, cut as most decoders do (the maximal subparts of Unicode
// 15, 3.9); unchanged when it is valid.
std::string to_utf8(std::string_view bytes);
// The longest prefix of at most `bytes_max` bytes that ends between two characters.
std::string_view utf8_prefix(std::string_view text, std::size_t bytes_max);
// The longest suffix of at most `bytes_max` bytes that starts at a character.
std::string_view utf8_suffix(std::string_view text, std::size_t bytes_max);
// The text on one line for a person: control characters become spaces or \xNN, cut at `bytes_max`.
std::string one_line(std::string_view text, std::size_t bytes_max);

// The text with A to Z as a to z; other bytes are unchanged, whatever the locale.
std::string ascii_lower(std::string_view text);

std::string hex(std::span<const std::uint8_t> bytes);

void put_be32(std::string& out, std::uint32_t value);
void put_be64(std::string& out, std::uint64_t value);
std::uint32_t get_be32(const char* at);
std::uint64_t get_be64(const char* at);

// True for a text of white space only, of any script (Unicode White_Space, U+001C to U+001F, U+FEFF).
bool is_blank(std::string_view text);
// The text without spaces and tabs at its ends.
std::string_view without_blanks(std::string_view text);
// The byte of "%2f" at the start of the text; nullopt: there is no such escape.
std::optional<char> percent_escaped(std::string_view text);
// The text with its escapes resolved (RFC 3986, 2.1); nullopt: a "%" begins none.
std::optional<std::string> percent_decoded(std::string_view text);
// Joins the parts that are not empty, with the separator between them.
std::string join(std::span<const std::string> parts, std::string_view separator);
// "1,234,567".
std::string with_commas(std::uint64_t value);
// "1 message", "1,200 messages"; for nouns whose plural ends with an s.
std::string counted(std::uint64_t count, std::string_view noun);

// True for a name that could move a terminal's cursor or break a line. Hooks and recipes must not have one.
bool has_control_character(std::string_view name);

}  // namespace agentd
