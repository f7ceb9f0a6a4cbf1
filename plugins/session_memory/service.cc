// SPDX-License-Identifier: Apache-2.0
#include "plugins/session_memory/service.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "plugins/session_memory/quote.h"

namespace session_memory {
namespace {

using agentd::Code;
using agentd::Error;
using agentd::JsonDocument;
using agentd::JsonView;
using agentd::JsonWriter;
using agentd::Result;

constexpr std::size_t kLimit = 10, kPrimeLimit = 3, kLimitMost = 200, kJobsAtOnce = 5;

struct Asked {
  Engine& engine;
  const ServiceCall& call;
  JsonView input;
  std::string project;
  bool everywhere = true;  // otherwise the caller stays in `project`

  // The reach of ids to read or to judge, and of ids to change.
  Reach reads() const { return everywhere ? Reach::kEverywhere : Reach::kProjectAndShared; }
  Reach writes() const { return everywhere ? Reach::kEverywhere : Reach::kProject; }
};

Result<std::string> text(const Asked& asked, std::string_view name) {
  const JsonView found = asked.input[name];
  if (!found.is_string() || found.string_or("").empty()) return wrong(name, "a text that is not empty");
  return std::string(found.string_or(""));
}

Result<std::size_t> limit(const Asked& asked, std::size_t otherwise, std::string_view name = "limit") {
  const JsonView found = asked.input[name];
  if (found.is_null()) return otherwise;
  const std::uint64_t value = found.uint_or(0);
  if (value == 0 || value > kLimitMost) return wrong(name, "a whole number from 1 to " + std::to_string(kLimitMost));
  return static_cast<std::size_t>(value);
}

std::string finished(const JsonWriter& out) { return std::string(out.text()); }

std::string memory_answer(const Memory& memory) {
  JsonWriter out;
  out.begin_object().key("memory");
  write(out, memory);
  out.member("source", source_of(memory)).end_object();
  return finished(out);
}

std::size_t json_bytes(std::string_view text) {
  JsonWriter out;
  out.string(text);
  return out.text().size();
}

// As many of the best as an answer can hold, each with its quotation.
std::string found_answer(const std::vector<FoundMemory>& found) {
  JsonWriter out;
  std::vector<FoundMemory> told;
  std::size_t quoted_bytes = 0;
  out.begin_object().key("memories").begin_array();
  for (const FoundMemory& each : found) {
    const Memory& memory = each.memory;
    quoted_bytes += json_bytes(quoted(memory));
    if (out.text().size() + json_bytes(memory.content) + quoted_bytes > kAnswerBytesMax) break;
    told.push_back(each);
    out.begin_object().member("id", memory.id).member("title", memory.title).member("text", memory.content);
    out.member("subject", memory.subject).member("polarity", name_of(memory.polarity));
    out.key("confidence").real(memory.confidence).member("created_ms", memory.created_ms);
    out.member("source", source_of(memory)).member("project_id", memory.project);
    out.key("score").real(each.score).end_object();
  }
  out.end_array().member("context", quoted(told)).end_object();
  return finished(out);
}

// ---- operations

Result<std::string> prime(const Asked& asked) {
  AGENTD_TRY(const std::size_t most, limit(asked, kPrimeLimit));
  const std::string task(asked.input["task"].string_or(""));
  AGENTD_TRY(const auto found, asked.engine.prime(asked.call.keys, asked.project, task, most));
  return found_answer(found);
}

Result<std::string> search(const Asked& asked) {
  AGENTD_TRY(const std::size_t most, limit(asked, kLimit));
  AGENTD_TRY(const std::string query, text(asked, "query"));
  AGENTD_TRY(const auto found, asked.engine.search(asked.call.keys, asked.project, query, most));
  return found_answer(found);
}

Result<std::string> add(const Asked& asked) {
  AGENTD_TRY(Memory made, memory_of(asked.input));
  made.id.clear();
  made.project = asked.project;
  made.uses = made.helpful = made.unhelpful = 0;
  made.created_ms = made.used_ms = 0;
  made.superseded_by.clear();
  if (asked.input["origin"].is_null()) made.origin = Origin::kRecorded;
  AGENTD_TRY(const std::string id,
             asked.engine.add(asked.call.keys, std::move(made), std::string(asked.input["supersedes"].string_or(""))));
  JsonWriter out;
  out.begin_object().member("id", id).end_object();
  return finished(out);
}

Result<std::string> add_document(const Asked& asked) {
  AGENTD_TRY(const std::string name, text(asked, "name"));
  AGENTD_TRY(const std::string content, text(asked, "text"));
  AGENTD_TRY(const std::size_t sections, asked.engine.add_document(asked.call.keys, asked.project, name, content));
  JsonWriter out;
  out.begin_object().member("sections", std::uint64_t{sections}).end_object();
  return finished(out);
}

// A page of the project's memories in order of their ids, each as `put` writes it.
template <typename Put>
Result<std::string> pages(const Asked& asked, std::string_view name, Put&& put) {
  AGENTD_TRY(std::vector<Memory> all, asked.engine.list(asked.call.keys, asked.project));
  const std::string after(asked.input["after"].string_or(""));
  const bool hidden = asked.input["superseded"].bool_or(true);
  std::string next;
  JsonWriter out;
  out.begin_object().key(name).begin_array();
  bool begun = after.empty();
  for (const Memory& each : all) {
    if (!begun) {
      begun = each.id == after;
      continue;
    }
    if (!hidden && each.is_superseded()) continue;
    if (out.text().size() > kAnswerBytesMax - 2 * Memory::kContentBytesMax) break;
    put(out, each);
    next = each.id;
  }
  // One page too many is an empty one.
  const bool more = !all.empty() && !next.empty() && next != all.back().id;
  out.end_array().optional("next", more ? next : std::string()).end_object();
  return finished(out);
}

Result<std::string> list(const Asked& asked) {
  return pages(asked, "memories", [](JsonWriter& out, const Memory& each) { write(out, each); });
}

Result<std::string> export_files(const Asked& asked) {
  return pages(asked, "files", [](JsonWriter& out, const Memory& each) {
    out.begin_object().member("name", file_name_of(each)).member("text", markdown_of(each)).end_object();
  });
}

Result<std::string> import_files(const Asked& asked) {
  const JsonView list = asked.input["files"];
  if (!list.is_array()) return wrong("files", "a list of {name, text}");
  std::vector<std::pair<std::string, std::string>> files;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const JsonView each = list.at(i);
    if (!each["name"].is_string() || !each["text"].is_string()) return wrong("files", "a list of {name, text}");
    files.emplace_back(each["name"].string_or(""), each["text"].string_or(""));
  }
  AGENTD_TRY(const Imported done, asked.engine.import(asked.call.keys, asked.project, files));
  JsonWriter out;
  out.begin_object().member("added", std::uint64_t{done.added}).member("changed", std::uint64_t{done.changed});
  out.key("problems").begin_array();
  for (const std::string& each : done.problems) out.string(each);
  out.end_array().end_object();
  return finished(out);
}

Result<std::string> show(const Asked& asked) {
  AGENTD_TRY(const std::string id, text(asked, "id"));
  AGENTD_TRY(const Memory found, asked.engine.show(asked.call.keys, asked.project, id, asked.reads()));
  return memory_answer(found);
}

Result<std::string> edit(const Asked& asked) {
  AGENTD_TRY(const std::string id, text(asked, "id"));
  AGENTD_TRY(const Memory made,
             asked.engine.edit(asked.call.keys, asked.project, id, asked.input["fields"], asked.writes()));
  return memory_answer(made);
}

Result<std::string> erase(const Asked& asked) {
  AGENTD_TRY(const std::string id, text(asked, "id"));
  AGENTD_TRY(const Memory gone, asked.engine.erase(asked.call.keys, asked.project, id, asked.writes()));
  return memory_answer(gone);
}

Result<std::string> feedback(const Asked& asked) {
  AGENTD_TRY(const std::string id, text(asked, "id"));
  if (!asked.input["helpful"].is_bool()) return wrong("helpful", "true or false");
  AGENTD_TRY(const Memory made, asked.engine.feedback(asked.call.keys, asked.project, id,
                                                      asked.input["helpful"].bool_or(false), asked.reads()));
  return memory_answer(made);
}

Result<std::string> jobs(const Asked& asked) {
  AGENTD_TRY(const std::vector<Job> all, asked.engine.jobs(asked.call.keys));
  const bool finished_too = asked.input["done"].bool_or(false);
  JsonWriter out;
  out.begin_object().key("jobs").begin_array();
  for (const Job& each : all) {
    if (each.state == Job::State::kDone && !finished_too) continue;
    if (!asked.everywhere && each.project != asked.project) continue;
    if (out.text().size() > kAnswerBytesMax) break;
    out.begin_object().member("conversation_id", each.conversation).member("project_id", each.project);
    out.member("revision", each.revision).member("state", name_of(each.state));
    out.member("attempts", std::uint64_t{each.attempts}).optional("error", each.error);
    out.member("drafts", std::uint64_t{each.drafts.size()});
    out.member("created_ms", each.created_ms).member("changed_ms", each.changed_ms).end_object();
  }
  out.end_array().end_object();
  return finished(out);
}

Result<std::string> run_jobs(const Asked& asked) {
  AGENTD_TRY(const std::size_t most, limit(asked, kJobsAtOnce, "max"));
  std::vector<std::string> absent;
  const JsonView providers = asked.input["absent"];
  for (std::size_t i = 0; i < providers.size(); ++i) absent.emplace_back(providers.at(i).string_or(""));
  AGENTD_TRY(const JobsRun run,
             asked.engine.run_jobs(asked.call.keys, asked.call.logs, asked.call.talk, most,
                                   asked.input["retry"].bool_or(false), asked.input["refine"].bool_or(true), absent));
  JsonWriter out;
  out.begin_object().member("done", std::uint64_t{run.done}).member("failed", std::uint64_t{run.failed});
  out.member("left", std::uint64_t{run.left}).member("skipped", std::uint64_t{run.skipped}).end_object();
  return finished(out);
}

// A session that ended without its hook: the next start calls this for one that was killed.
Result<std::string> end_session(const Asked& asked) {
  AGENTD_TRY(EndedSession session, [&]() -> Result<EndedSession> {
    EndedSession out;
    AGENTD_TRY(out.conversation, text(asked, "conversation_id"));
    out.project = asked.project;
    out.revision = asked.input["revision"].uint_or(0);
    out.ended_ms = asked.input["ended_ms"].int_or(0);
    return out;
  }());
  if (session.revision == 0) return wrong("revision", "the conversation's last log sequence");
  AGENTD_TRY(const Engine::Learned learned,
             asked.engine.end_session(asked.call.keys, &asked.call.logs, std::move(session),
                                      std::string(asked.input["provider"].string_or("")),
                                      std::string(asked.input["model"].string_or(""))));
  JsonWriter out;
  out.begin_object().member("memories", std::uint64_t{learned.memories});
  out.member("remediations", std::uint64_t{learned.remediations}).end_object();
  return finished(out);
}

Result<std::string> forget(const Asked& asked) {
  AGENTD_TRY(const std::string conversation, text(asked, "conversation_id"));
  std::vector<std::uint64_t> seqs;
  const JsonView list = asked.input["seqs"];
  if (!list.is_null() && !list.is_array()) return wrong("seqs", "a list of log sequences");
  for (std::size_t i = 0; i < list.size(); ++i) seqs.push_back(list.at(i).uint_or(0));
  // An empty list would mean all of it.
  if (list.is_array() && seqs.empty()) return wrong("seqs", "absent, or a list that is not empty");
  AGENTD_TRY(const std::size_t erased, asked.engine.forget(asked.call.keys, conversation, seqs));
  JsonWriter out;
  out.begin_object().member("erased", std::uint64_t{erased}).end_object();
  return finished(out);
}

Result<std::string> search_remediations(const Asked& asked) {
  AGENTD_TRY(const std::size_t most, limit(asked, kPrimeLimit));
  AGENTD_TRY(const std::string error, text(asked, "error"));
  AGENTD_TRY(const auto found, asked.engine.remediations(asked.call.keys, asked.project, error, most));
  JsonWriter out;
  out.begin_object().key("remediations").begin_array();
  std::string context;
  for (const Remediation& each : found) {
    write(out, each);
    context += (context.empty() ? "" : "\n") + quoted(each);
  }
  out.end_array().member("context", context).end_object();
  return finished(out);
}

Result<std::string> record_remediation(const Asked& asked) {
  Remediation made;
  made.project = asked.project;
  made.tool = asked.input["tool"].string_or("");
  made.tried = asked.input["tried"].string_or("");
  AGENTD_TRY(made.fix, text(asked, "fix"));
  AGENTD_TRY(const std::string error, text(asked, "error"));
  const std::string conversation(asked.input["conversation_id"].string_or(""));
  if (!conversation.empty()) made.provenance.push_back({conversation, asked.input["seq"].uint_or(0), 0});
  AGENTD_TRY(const Remediation kept, asked.engine.record(asked.call.keys, std::move(made), error));
  JsonWriter out;
  out.begin_object().member("id", kept.id).member("signature", kept.signature).end_object();
  return finished(out);
}

struct OperationRow {
  Operation operation;
  Result<std::string> (*run)(const Asked&);
  bool own = false;  // reaches all projects, or the log of any conversation: not for a plugin in a project
};
constexpr OperationRow kRows[] = {
    {{kMemoryService, "prime", true, true}, prime},
    {{kMemoryService, "search", true, true}, search},
    {{kMemoryService, "add", false, false}, add},
    {{kMemoryService, "add_document", false, true}, add_document},
    {{kMemoryService, "list", true, true}, list},
    {{kMemoryService, "show", true, true}, show},
    {{kMemoryService, "edit", false, true}, edit},
    {{kMemoryService, "delete", false, false}, erase},
    {{kMemoryService, "feedback", false, false}, feedback},
    {{kMemoryService, "jobs", true, true}, jobs},
    {{kMemoryService, "run_jobs", false, true}, run_jobs, true},
    {{kMemoryService, "end_session", false, true}, end_session, true},
    {{kMemoryService, "export", true, true}, export_files},
    {{kMemoryService, "import", false, true}, import_files},
    {{kMemoryService, "forget", false, true}, forget, true},
    {{kRemediationService, "search", true, true}, search_remediations},
    {{kRemediationService, "record", false, true}, record_remediation},
};

}  // namespace

std::span<const Operation> operations() {
  static const std::vector<Operation> all = [] {
    std::vector<Operation> out;
    for (const OperationRow& each : kRows) out.push_back(each.operation);
    return out;
  }();
  return all;
}

Result<std::string> call_operation(Engine& engine, const ServiceCall& call, std::string_view interface_id,
                                   std::string_view operation, std::string_view input_json) {
  const auto parsed = JsonDocument::parse(input_json.empty() ? "{}" : input_json);
  if (!parsed) return parsed.error().with_context("the input");
  const JsonView input = parsed->root();
  if (!input.is_object()) return wrong("the input", "an object");
  for (const OperationRow& row : kRows) {
    if (row.operation.interface_id != interface_id || row.operation.name != operation) continue;
    const JsonView named = input["project_id"];
    const std::string project(named.is_string() ? named.string_or("") : std::string_view(call.project));
    const bool everywhere = call.everywhere || call.project.empty();
    if (!everywhere && row.own)
      return Error{Code::kDenied, std::string(operation) + " reaches all projects, and is for agentd itself"};
    if (!everywhere && project != call.project)
      return Error{Code::kDenied, "a plugin reaches the memories of the project that it works in: omit project_id"};
    return row.run({engine, call, input, project, everywhere});
  }
  return Error{Code::kInvalid, std::string(interface_id) + " has no operation " + agentd::one_line(operation, 64)};
}

}  // namespace session_memory
