// SPDX-License-Identifier: Apache-2.0
#include "core/serve/sessions.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/agent/conversation_mode.h"
#include "core/serve/client_link.h"

namespace agentd::serve {
namespace {

constexpr Milliseconds kEndLook{10};

RunError closing() { return {RunError::Kind::kBusy, "agentd is being closed: try again when it has started"}; }

}  // namespace

Sessions::Sessions(Runtime& runtime, Workplaces& workplaces, Metrics& metrics, Options options)
    : runtime_(runtime), workplaces_(workplaces), metrics_(metrics), options_(options), threads_(options.threads_max) {}

Sessions::~Sessions() { end_all("exit", Deadline{0}); }

void Sessions::create(const SessionWishes& wishes, const std::string& first_text, LiveSession::Done<Shared> done) {
  const auto session = std::make_shared<LiveSession>(runtime_, workplaces_, metrics_, threads_, wishes, std::nullopt);
  {
    const MutexLock lock(mutex_);
    if (ends_) return done(closing());
    if (at_hand_.size() + opening_.size() >= options_.at_hand_max)
      return done(RunError{RunError::Kind::kBusy, "too many conversations are open: try again in a minute"});
    opening_.push_back(session);
  }
  const auto opened = [this, raw = session.get(), done](const Result<void, RunError>& result) {
    Shared self;
    {
      const MutexLock lock(mutex_);
      const auto place =
          std::find_if(opening_.begin(), opening_.end(), [&](const auto& each) { return each.get() == raw; });
      if (place == opening_.end()) return;  // never: it is called once
      self = std::move(*place);
      opening_.erase(place);
      if (result)
        at_hand_[self->id()] = self;
      else
        ended_.push_back(self);
    }
    if (!result) return done(result.error());
    done(std::move(self));
  };
  session->open(first_text, opened);
}

Result<Sessions::Shared, RunError> Sessions::at(const Ulid& conversation) {
  if (Shared known = find(conversation.text())) return known;
  {
    const MutexLock lock(mutex_);
    if (ends_) return closing();
  }
  const auto info = runtime_.store().info(conversation);
  if (!info)
    return RunError{info.error().code == Code::kNotFound ? RunError::Kind::kNotFound : RunError::Kind::kStore,
                    info.error().message};
  SessionWishes wishes;
  wishes.cwd = info->cwd;
  const auto mode = mode_of_conversation(runtime_.store(), conversation.text());
  if (!mode) return RunError{RunError::Kind::kStore, mode.error().message};
  const bool unsafe = *mode == PermissionRules::Mode::kAllow && !options_.may_allow;
  if (!unsafe) wishes.mode = *mode;
  MutexLock lock(mutex_);
  if (ends_) return closing();
  if (const auto found = at_hand_.find(conversation.text()); found != at_hand_.end()) return found->second;
  if (at_hand_.size() >= options_.at_hand_max)
    return RunError{RunError::Kind::kBusy, "too many conversations are open: try again in a minute"};
  auto made = std::make_shared<LiveSession>(runtime_, workplaces_, metrics_, threads_, wishes, conversation);
  at_hand_[conversation.text()] = made;
  lock.unlock();
  // Deleted since it was looked for: whoever deletes forgets the session first, and again at the end.
  if (const auto still = runtime_.store().info(conversation); !still && still.error().code == Code::kNotFound) {
    forget_deleted(conversation.text());
    return RunError{RunError::Kind::kNotFound, still.error().message};
  }
  return made;
}

// The session of the client gets an object of its own: whoever has asked for the conversation before, or waits there,
// still means that one.
void Sessions::clear(LiveSession& session, const std::shared_ptr<ClientLink>& client, LiveSession::Done<Shared> done) {
  const auto shared = std::make_shared<LiveSession::Done<Shared>>(std::move(done));  // called once: by the job, or here
  session.work_for(
      client,
      [this, &session, client, shared](ClientSession& open, const CancelToken& cancel) {
        if (auto cleared = session.clear_now(cancel); !cleared) return (*shared)(cleared.error());
        const std::string id = open.session()->conversation_id();
        SessionWishes wishes;
        wishes.cwd = client->wishes().cwd;
        const auto next =
            std::make_shared<LiveSession>(runtime_, workplaces_, metrics_, threads_, wishes, *Ulid::parse(id));
        next->take_over(session);
        {
          const MutexLock lock(mutex_);
          if (Shared& place = at_hand_[id]; place)
            ended_.push_back(std::exchange(place, next));
          else
            place = next;
        }
        (*shared)(next);
      },
      [shared](RunError error) { (*shared)(std::move(error)); });
}

Sessions::Shared Sessions::find(const std::string& conversation) const {
  const MutexLock lock(mutex_);
  const auto found = at_hand_.find(conversation);
  return found == at_hand_.end() ? nullptr : found->second;
}

std::vector<Sessions::Shared> Sessions::all() const {
  const MutexLock lock(mutex_);
  std::vector<Shared> out;
  for (const auto& [id, session] : at_hand_) out.push_back(session);
  return out;
}

bool Sessions::forget(const std::string& conversation) {
  const MutexLock lock(mutex_);
  const auto found = at_hand_.find(conversation);
  if (found == at_hand_.end()) return true;
  if (!found->second->retire()) return false;
  ended_.push_back(std::move(found->second));
  at_hand_.erase(found);
  return true;
}

void Sessions::forget_deleted(const std::string& conversation) {
  if (forget(conversation)) return;
  const MutexLock lock(mutex_);
  deleted_.insert(conversation);
}

Sessions::Counts Sessions::counts() const {
  Counts out{};
  for (const Shared& each : all()) ++out[static_cast<std::size_t>(each->state())];
  return out;
}

void Sessions::tidy() {
  std::set<std::string> deleted;
  {
    const MutexLock lock(mutex_);
    deleted.swap(deleted_);
  }
  for (const std::string& each : deleted) forget_deleted(each);
  std::vector<Shared> ended;  // destroyed without the lock
  {
    const MutexLock lock(mutex_);
    const auto idle = std::stable_partition(ended_.begin(), ended_.end(),
                                            [](const Shared& each) { return !each->idle_since_ns().has_value(); });
    ended.assign(std::make_move_iterator(idle), std::make_move_iterator(ended_.end()));
    ended_.erase(idle, ended_.end());
  }
  const std::uint64_t now = runtime_.clock().monotonic_ns();
  const auto is_over = [&](std::uint64_t since, Milliseconds time) {
    return now > since && now - since > static_cast<std::uint64_t>(time.count()) * 1'000'000;
  };
  for (const Shared& each : all()) {
    each->ring().keep_alive();
    const auto since = each->idle_since_ns();
    if (!since || !is_over(*since, options_.park_after)) continue;
    if (each->state() != LiveSession::State::kParked)
      each->park();
    else if (each->ring().subscribers() == 0 && is_over(*since, options_.drop_after))
      drop(each);
  }
}

// Under the lock, so that nobody takes it up in between.
void Sessions::drop(const Shared& session) {
  const MutexLock lock(mutex_);
  if (session->state() != LiveSession::State::kParked || !session->retire()) return;
  at_hand_.erase(session->id());
  ++dropped_;
}

void Sessions::end_all(std::string_view reason, Deadline deadline) {
  std::vector<Shared> ended;
  {
    const MutexLock lock(mutex_);
    ends_ = true;
    for (auto& [id, session] : at_hand_) ended.push_back(std::move(session));
    at_hand_.clear();
    ended.insert(ended.end(), opening_.begin(), opening_.end());
    ended.insert(ended.end(), ended_.begin(), ended_.end());
    ended_.clear();
  }
  // As many at the same time as there are threads.
  std::vector<Shared> left = ended;
  const auto all_ended = [&] {
    std::erase_if(left, [&](const Shared& each) { return each->end(reason); });
    return left.empty() && std::all_of(ended.begin(), ended.end(),
                                       [](const Shared& each) { return each->idle_since_ns().has_value(); });
  };
  while (!all_ended() && !deadline.passed(runtime_.clock())) runtime_.clock().pause(kEndLook);
  for (const Shared& each : ended) each->stop();
}

}  // namespace agentd::serve
