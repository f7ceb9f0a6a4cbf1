// SPDX-License-Identifier: Apache-2.0
#include "plugins/session_memory/job.h"

#include "core/base/bytes.h"

namespace session_memory {
namespace {

using agentd::Code;
using agentd::Error;
using agentd::JsonView;
using agentd::JsonWriter;
using agentd::Result;

constexpr std::size_t kDraftsMax = 32;

Result<Job::State> state_of(std::string_view text) {
  using State = Job::State;
  for (const State each : {State::kWaiting, State::kRunning, State::kDone, State::kResting})
    if (name_of(each) == text) return each;
  return Error{Code::kInvalid, "unknown state of a job: " + std::string(text)};
}

void write_typed(JsonWriter& out, const EndedSession& typed) {
  out.key("typed").begin_object();
  if (typed.outcome) out.member("outcome", name_of(*typed.outcome)).member("revision", typed.revision);
  out.optional("task", typed.task).optional("approach", typed.approach).optional("notes", typed.notes);
  out.key("tags").begin_array();
  for (const std::string& each : typed.tags) out.string(each);
  out.end_array().end_object();
}

EndedSession typed_of(JsonView from) {
  EndedSession out;
  if (const auto outcome = outcome_of(from["outcome"].string_or("")); outcome) out.outcome = *outcome;
  out.revision = from["revision"].uint_or(0);
  out.task = from["task"].string_or("");
  out.approach = from["approach"].string_or("");
  out.notes = from["notes"].string_or("");
  for (std::size_t i = 0; i < from["tags"].size(); ++i) out.tags.emplace_back(from["tags"].at(i).string_or(""));
  return out;
}

}  // namespace

std::string_view name_of(Job::State state) {
  switch (state) {
    case Job::State::kWaiting:
      return "waiting";
    case Job::State::kRunning:
      return "running";
    case Job::State::kDone:
      return "done";
    case Job::State::kResting:
      return "resting";
  }
  return "waiting";
}

std::string json_of(const Job& job) {
  JsonWriter out;
  out.begin_object().member("conversation", job.conversation).optional("project_id", job.project);
  out.optional("provider", job.provider).optional("model", job.model);
  out.member("refined", job.refined).member("revision", job.revision).member("state", name_of(job.state));
  if (job.behind != 0) out.member("behind", job.behind);
  out.member("attempts", std::uint64_t{job.attempts}).optional("error", job.error);
  out.member("created_ms", job.created_ms).member("changed_ms", job.changed_ms);
  if (job.lease_until_ms != 0) out.member("lease_until_ms", job.lease_until_ms);
  out.optional("holder", job.holder);
  write_typed(out, job.typed);
  out.key("drafts").begin_array();
  for (const std::string& each : job.drafts) out.string(each);
  out.end_array().end_object();
  return std::string(out.text());
}

Result<Job> job_of(JsonView from) {
  Job out;
  out.conversation = from["conversation"].string_or("");
  if (out.conversation.empty()) return Error{Code::kInvalid, "a job has no conversation"};
  out.project = from["project_id"].string_or("");
  out.provider = from["provider"].string_or("");
  out.model = from["model"].string_or("");
  out.refined = from["refined"].uint_or(0);
  out.revision = from["revision"].uint_or(0);
  out.behind = from["behind"].uint_or(0);
  AGENTD_TRY(out.state, state_of(from["state"].string_or("")));
  out.attempts = static_cast<std::uint32_t>(from["attempts"].uint_or(0));
  out.error = from["error"].string_or("");
  out.created_ms = from["created_ms"].int_or(0);
  out.changed_ms = from["changed_ms"].int_or(0);
  out.lease_until_ms = from["lease_until_ms"].int_or(0);
  out.holder = from["holder"].string_or("");
  out.typed = typed_of(from["typed"]);
  for (std::size_t i = 0; i < from["drafts"].size(); ++i) out.drafts.emplace_back(from["drafts"].at(i).string_or(""));
  return out;
}

Job taken(Job job, std::string_view holder, std::int64_t now_ms) {
  if (job.attempts >= Job::kAttemptsMax)
    return failed(std::move(job), "the process ended while it was working on it", now_ms);
  job.state = Job::State::kRunning;
  ++job.attempts;
  job.holder = holder;
  job.lease_until_ms = now_ms + Job::kLeaseMs;
  job.changed_ms = now_ms;
  return job;
}

Job failed(Job job, std::string_view error, std::int64_t now_ms) {
  job.state = job.attempts >= Job::kAttemptsMax ? Job::State::kResting : Job::State::kWaiting;
  job.error = agentd::one_line(error, Job::kErrorBytesMax);
  job.holder.clear();
  job.lease_until_ms = 0;
  job.changed_ms = now_ms;
  return job;
}

Job released(Job job, std::int64_t now_ms) {
  job.state = Job::State::kWaiting;
  if (job.attempts > 0) --job.attempts;
  job.holder.clear();
  job.lease_until_ms = 0;
  job.changed_ms = now_ms;
  return job;
}

Job done(Job job, std::int64_t now_ms) {
  job.state = Job::State::kDone;
  job.refined = job.revision;
  job.attempts = 0;
  job.error.clear();
  job.holder.clear();
  job.lease_until_ms = 0;
  job.changed_ms = now_ms;
  job.drafts.clear();
  return job;
}

Job extended(Job job, const EndedSession& session, const std::vector<Memory>& drafts, std::int64_t now_ms) {
  if (job.conversation.empty()) {
    job.conversation = session.conversation;
    job.created_ms = now_ms;
    job.refined = session.from == 0 ? 0 : session.from - 1;
  }
  job.project = session.project;
  job.revision = session.revision;
  if (!job.waits_for_step_one()) job.behind = 0;
  // A process that works on it finds another version and stops.
  job.state = Job::State::kWaiting;
  job.attempts = 0;
  job.error.clear();
  job.holder.clear();
  job.lease_until_ms = 0;
  job.changed_ms = now_ms;
  if (session.is_typed()) job.typed = session;
  for (const Memory& each : drafts)
    if (job.drafts.size() < kDraftsMax) job.drafts.push_back(each.id);
  return job;
}

}  // namespace session_memory
