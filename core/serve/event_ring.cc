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

void EventRing::send_all(const std::string& bytes) {
  std::erase_if(streams_, [&](const auto& stream) { return !stream->send(bytes); });
}

void EventRing::add(std::uint64_t revision, std::string_view type, std::string_view json) {
  const MutexLock lock(mutex_);
  if (closed_) return;
  newest_.revision = std::max(newest_.revision, revision);
  ++newest_.number;
  Told told{newest_, server_sent(type, newest_, json)};
  send_all(told.bytes);
  bytes_ += told.bytes.size();
  told_.push_back(std::move(told));
  while (told_.size() > limits_.events || (bytes_ > limits_.bytes && told_.size() > 1)) {
    bytes_ -= told_.front().bytes.size();
    told_.pop_front();
  }
}

bool EventRing::knows(const EventId& last) const {
  if (last.epoch != epoch_ || last.number > newest_.number) return false;
  const std::uint64_t oldest = told_.empty() ? newest_.number + 1 : told_.front().id.number;
  return last.number + 1 >= oldest;
}

bool EventRing::subscribe(std::shared_ptr<HttpStream> stream, const std::optional<EventId>& last,
                          std::uint64_t revision) {
  const MutexLock lock(mutex_);
  if (closed_ || streams_.size() >= limits_.subscribers) return false;
  bool listens = true;
  if (last && knows(*last)) {
    for (const Told& each : told_)
      if (each.id.number > last->number) listens = listens && stream->send(each.bytes);
  } else if (last) {
    // Events of now count from the log of now: what it has is read there, and told no second time.
    newest_.revision = std::max(newest_.revision, revision);
    listens = stream->send(server_sent("resync", newest_, resync_json(last->revision, newest_.revision)));
  } else {
    listens = stream->send(": listening\n\n");
  }
  if (listens) streams_.push_back(std::move(stream));
  return true;
}

void EventRing::keep_alive() {
  const MutexLock lock(mutex_);
  send_all(": still here\n\n");
}

void EventRing::close() {
  const MutexLock lock(mutex_);
  closed_ = true;
  for (const auto& stream : streams_) stream->close();
  streams_.clear();
}

std::size_t EventRing::subscribers() const {
  const MutexLock lock(mutex_);
  return streams_.size();
}

EventId EventRing::newest() const {
  const MutexLock lock(mutex_);
  return newest_;
}

}  // namespace agentd::serve
