// SPDX-License-Identifier: Apache-2.0
#include "core/serve/event_ring.h"

#include <algorithm>
#include <charconv>

#include "core/codec/json.h"

namespace agentd::serve {
namespace {

// A number in its shortest form.
std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t out = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (wrong != std::errc() || end != text.data() + text.size() || (text.size() > 1 && text[0] == '0'))
    return std::nullopt;
  return out;
}

std::string resync_json(std::uint64_t from, std::uint64_t revision) {
  JsonWriter out;
  out.begin_object().member("type", "resync").member("after", from).member("revision", revision).end_object();
  return std::string(out.text());
}

}  // namespace

std::optional<EventId> EventId::parse(std::string_view text) {
  const std::size_t first = text.find('-');
  const std::size_t second = first == std::string_view::npos ? first : text.find('-', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const auto revision = number_in(text.substr(0, first)), epoch = number_in(text.substr(first + 1, second - first - 1)),
             number = number_in(text.substr(second + 1));
  if (!revision || !epoch || !number) return std::nullopt;
  return EventId{*revision, *epoch, *number};
}

std::string EventId::text() const {
  return std::to_string(revision) + "-" + std::to_string(epoch) + "-" + std::to_string(number);
}

std::string server_sent(std::string_view type, const EventId& id, std::string_view json) {
  std::string out = "id: " + id.text() + "\nevent: ";
  out.append(type).append("\ndata: ").append(json_line(json)).append("\n\n");
  return out;
}

void EventRing::add(std::uint64_t revision, std::string_view type, std::string_view json, std::uint64_t seq) {
  const MutexLock lock(mutex_);
  if (closed_) return;
  newest_.revision = std::max(newest_.revision, revision);
  ++newest_.number;
  told_.push_back({newest_, seq, std::string(type), std::string(json)});
  const Told& told = told_.back();
  bytes_ += size_of(told);
  const std::string usual = server_sent(told.type, told.id, told.json);
  std::erase_if(subscribers_, [&](const Subscriber& each) {
    const bool is_usual = told.seq == 0 ? told.id.revision >= each.has : told.seq > each.has;
    if (is_usual) return !each.stream->send(usual);
    const std::string own = bytes_for(told, each.has);
    return !own.empty() && !each.stream->send(own);
  });
  while (told_.size() > limits_.events || (bytes_ > limits_.bytes && told_.size() > 1)) {
    bytes_ -= size_of(told_.front());
    told_.pop_front();
  }
}

std::size_t EventRing::size_of(const Told& told) { return told.type.size() + told.json.size(); }

// An id never says less than its client has. Empty: the client has the event's record.
std::string EventRing::bytes_for(const Told& told, std::uint64_t has) {
  if (told.seq != 0 && told.seq <= has) return {};
  EventId id = told.id;
  id.revision = std::max(id.revision, has);
  return server_sent(told.type, id, told.json);
}

bool EventRing::knows(const EventId& last) const {
  if (last.epoch != epoch_ || last.number > newest_.number) return false;
  const std::uint64_t oldest = told_.empty() ? newest_.number + 1 : told_.front().id.number;
  return last.number + 1 >= oldest;
}

bool EventRing::subscribe(std::shared_ptr<HttpStream> stream, const std::optional<EventId>& last,
                          std::uint64_t revision) {
  const MutexLock lock(mutex_);
  if (closed_ || subscribers_.size() >= limits_.subscribers) return false;
  Subscriber made{std::move(stream), 0};
  std::string begin;
  if (last && knows(*last)) {
    made.has = last->revision;
    for (const Told& each : told_)
      if (each.id.number > last->number) begin += bytes_for(each, made.has);
  } else if (last) {
    // Records that the log has now are read there, and told no second time.
    made.has = std::max(newest_.revision, revision);
    const EventId id{made.has, epoch_, newest_.number};
    begin = server_sent("resync", id, resync_json(last->revision, made.has));
  } else {
    begin = ": listening\n\n";
  }
  if (begin.empty() || made.stream->send(std::move(begin))) subscribers_.push_back(std::move(made));
  return true;
}

void EventRing::keep_alive() {
  const MutexLock lock(mutex_);
  std::erase_if(subscribers_, [](const Subscriber& each) { return !each.stream->send(": still here\n\n"); });
}

void EventRing::forget() {
  const MutexLock lock(mutex_);
  told_ = {};
  bytes_ = 0;
}

void EventRing::close() {
  const MutexLock lock(mutex_);
  closed_ = true;
  for (const Subscriber& each : subscribers_) each.stream->close();
  subscribers_.clear();
}

std::size_t EventRing::subscribers() const {
  const MutexLock lock(mutex_);
  return subscribers_.size();
}

EventId EventRing::newest() const {
  const MutexLock lock(mutex_);
  return newest_;
}

}  // namespace agentd::serve
