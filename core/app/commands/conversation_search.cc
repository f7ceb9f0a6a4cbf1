// SPDX-License-Identifier: Apache-2.0
// conversation_search.cc - conversation search: messages by their words.
#include <algorithm>
#include <charconv>
#include <ctime>
#include <filesystem>
#include <optional>

#include "core/app/commands/commands.h"
#include "core/app/conversations.h"
#include "core/app/exit_codes.h"
#include "core/app/transcript.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/runtime/runtime.h"
#include "core/search/search.h"

namespace agentd::app {
namespace {

constexpr std::size_t kTitleBytes = 80, kShownOptionBytes = 80;
constexpr std::size_t kSeqColumns = 6, kRoleColumns = 9, kSnippetColumnsMin = 40;

// The start of a day of local time, `days` later.
std::optional<std::int64_t> day_ms(const std::string& date, int days) {
  constexpr std::size_t kDateBytes = 10;  // 2026-01-31
  if (date.size() != kDateBytes || date[4] != '-' || date[7] != '-') return std::nullopt;
  const auto number = [&](std::size_t at, std::size_t digits) {
    int out = -1;
    const char* const end = date.data() + at + digits;
    const auto read = std::from_chars(date.data() + at, end, out);
    return read.ptr == end && read.ec == std::errc() ? out : -1;
  };
  const int year = number(0, 4), month = number(5, 2), day = number(8, 2);
  std::tm parts{};
  parts.tm_year = year - 1900;
  parts.tm_mon = month - 1;
  parts.tm_mday = day;
  parts.tm_isdst = -1;
  const std::tm asked = parts;
  if (year < 1970 || std::mktime(&parts) == -1 || parts.tm_mon != asked.tm_mon || parts.tm_mday != asked.tm_mday)
    return std::nullopt;
  parts = asked;
  parts.tm_mday += days;
  return static_cast<std::int64_t>(std::mktime(&parts)) * 1000;
}

Result<std::int64_t> date_option(const Arguments& arguments, std::string_view option, int days) {
  if (!arguments.has(option)) return std::int64_t{0};
  const std::string text = arguments.value(option);
  if (const auto ms = day_ms(text, days)) return *ms;
  return Error{Code::kInvalid, "--" + std::string(option) + " takes a date as 2026-01-31, not '" +
                                   one_line(text, kShownOptionBytes) + "'"};
}

Result<std::string> project_of(const App& app, const Arguments& arguments) {
  if (arguments.has("all")) return std::string();
  if (!arguments.has("project")) return find_project(app.surroundings().cwd).id;
  std::error_code failed;
  const std::string directory = arguments.value("project");
  const auto path = std::filesystem::canonical(std::filesystem::path(app.surroundings().cwd) / directory, failed);
  if (failed || !std::filesystem::is_directory(path, failed))
    return Error{Code::kInvalid, "--project: " + one_line(directory, kShownOptionBytes) +
                                     " is not a directory: name another, or search all projects with --all"};
  return find_project(path.string()).id;
}

Result<SearchQuery> search_query_of(const App& app, const Arguments& arguments) {
  SearchQuery query;
  for (const std::string& word : arguments.words()) query.text += (query.text.empty() ? "" : " ") + word;
  AGENTD_TRY(query.project_id, project_of(app, arguments));
  AGENTD_TRY(query.since_ms, date_option(arguments, "since", 0));
  AGENTD_TRY(query.until_ms, date_option(arguments, "until", 1));
  if (query.until_ms != 0 && query.until_ms <= query.since_ms)
    return Error{Code::kInvalid, "--until is before --since: exchange them"};
  if (!arguments.has("limit")) return query;
  AGENTD_TRY(const std::uint64_t limit, parse_count("limit", arguments.value("limit")));
  query.limit = static_cast<std::uint32_t>(limit);
  return query;
}

std::string padded(std::string text, std::size_t width, bool right) {
  if (text.size() < width) text.insert(right ? 0 : text.size(), width - text.size(), ' ');
  return text;
}

// The snippet with its matches in bold.
std::string styled(const Output& out, const Snippet& snippet) {
  const std::string_view text = snippet.text;
  std::string shown;
  std::size_t at = 0;
  for (const TextRange& match : snippet.matches) {
    shown += text.substr(at, match.from - at);
    shown += out.styled("1", text.substr(match.from, match.to - match.from));
    at = match.to;
  }
  return shown += text.substr(at);
}

void print_text(Output& out, const SearchAnswer& answer) {
  for (const SearchedConversation& one : answer.found) {
    out.print(one.info.id + "  " + time_text(one.info.updated_ms) + "  " +
              neutral_line(one.info.title.empty() ? "(no title)" : one.info.title, kTitleBytes) + "\n");
    for (const SearchHit& hit : one.hits)
      if (hit.seq != 0)  // the title has just been printed
        out.print(padded(std::to_string(hit.seq), kSeqColumns, true) + "  " + padded(hit.role, kRoleColumns, false) +
                  "  " + styled(out, hit.snippet) + "\n");
    if (one.more_hits != 0)
      out.print(std::string(kSeqColumns + 2, ' ') + "and " + with_commas(one.more_hits) + " more\n");
  }
}

void print_json(Output& out, const SearchAnswer& answer) {
  for (const SearchedConversation& one : answer.found)
    for (const SearchHit& hit : one.hits) {
      JsonWriter json;
      json.begin_object().member("conversation_id", one.info.id).member("title", one.info.title);
      json.member("project_id", one.info.project_id).member("seq", hit.seq).member("time_ms", hit.time_ms);
      json.member("role", hit.role).member("snippet", hit.snippet.text).key("matches").begin_array();
      for (const TextRange& match : hit.snippet.matches)
        json.begin_array().number(match.from).number(match.to).end_array();
      json.end_array().member("more_hits", one.more_hits).end_object();
      out.print(std::string(json.text()) + "\n");
    }
}

Result<SearchAnswer, Failure> answer_of(App& app, const Arguments& arguments, const SearchQuery& query) {
  const Result<Config> config = app.config(arguments);
  if (!config) return Failure{kExitUsage, config.error().message};
  const Result<std::string> home = app.home();
  if (!home) return Failure{kExitUsage, home.error().message};
  auto store = existing_store(app);
  if (!store) return store.error();
  if (*store == nullptr) return SearchAnswer{};
  const auto log = open_log(*config, *home, [&](const std::string& text) { app.err().line("warning: " + text); });
  // The first index of many conversations takes seconds.
  Progress progress(app.err());
  progress.wait_for("search");
  auto answer = SearchIndex(*home, **store, app.clock(), *log).search(query);
  progress.stop();
  if (answer) return std::move(*answer);
  return Failure{answer.error().code == Code::kInvalid ? kExitUsage : store_exit(answer.error()),
                 answer.error().message};
}

}  // namespace

int search_command(App& app, const Arguments& arguments) {
  if (arguments.has("all") && arguments.has("project"))
    return app.fail(kExitUsage, "--all and --project exclude each other");
  if (const auto cwd = app.directory(); !cwd && !arguments.has("all") && !arguments.has("project"))
    return app.fail(kExitFailure, cwd.error().message + ", or search all projects with --all");
  Result<SearchQuery> query = search_query_of(app, arguments);
  if (!query) return app.fail(kExitUsage, query.error().message);
  const bool json = arguments.has("json");
  if (!json) query->columns = std::max(app.out().columns(), kSnippetColumnsMin) - kSeqColumns - kRoleColumns - 4;
  const auto answer = answer_of(app, arguments, *query);
  if (!answer) return app.fail(answer.error().code, answer.error().message);
  if (json)
    print_json(app.out(), *answer);
  else if (!answer->found.empty())
    print_text(app.out(), *answer);
  else
    app.out().print(arguments.has("all") || arguments.has("project")
                        ? "no matches\n"
                        : "no matches in this project; --all searches all projects\n");
  if (answer->more)
    app.err().line("there are more than " + with_commas(query->limit) + " conversations: --limit N shows N of them");
  for (const std::string& note : answer->notes) app.err().line("note: " + neutral_line(note, 2000));
  app.err().flush();
  return kExitOk;
}

}  // namespace agentd::app
