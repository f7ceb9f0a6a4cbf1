// SPDX-License-Identifier: Apache-2.0
#include "core/mcp/changes.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/signals_blocked.h"
#include "core/mcp/prompts.h"
#include "core/mcp/results.h"

namespace agentd::mcp {
namespace {

constexpr Milliseconds kChangesLook{1'000};

struct ListName {
  std::string_view method, wish;  // the wish: a member of `notifications`
};
constexpr std::array<ListName, 3> kLists{{{"notifications/tools/list_changed", "toolsListChanged"},
                                          {"notifications/prompts/list_changed", "promptsListChanged"},
                                          {"notifications/resources/list_changed", "resourcesListChanged"}}};
constexpr std::string_view kAddresses = "resourceSubscriptions";

Fault too_many_addresses() {
  return bad_params("a client subscribes to " + std::to_string(Changes::kAddressesMax) +
                    " resources at most: unsubscribe from one of them first");
}

Fault server_ends() { return {{kRpcInternal, "the server ends"}, 503}; }

std::size_t place_of(List list) { return static_cast<std::size_t>(list); }

}  // namespace

// The state of one client of the legacy era, or of one request that stays open.
struct Changes::Watch {
  explicit Watch(const From& whose, std::optional<Listen> request = {})
      : client(whose), held(request ? whose : nullptr), listen(std::move(request)) {
    if (listen) hearer = listen->to;
  }

  const std::weak_ptr<Client> client;
  const From held;                     // of the modern era: its request goes on
  const std::optional<Listen> listen;  // of the modern era
  mutable Mutex mutex;
  std::shared_ptr<Hearer> hearer GUARDED_BY(mutex);  // shared with the transport; null: there is none
  std::array<ListMark, kLists.size()> lists GUARDED_BY(mutex){};
  std::map<std::string, Address> addresses GUARDED_BY(mutex);  // as the client writes them

  bool is_of(const Client& other) const { return !listen && client.lock().get() == &other; }
  bool is_over() const { return listen && listen->cancel.cancelled(); }
  bool is_heard() const REQUIRES(mutex) { return hearer && !hearer->has_left(); }
  bool wants() const REQUIRES(mutex) {
    return !addresses.empty() ||
           std::any_of(lists.begin(), lists.end(), [](const ListMark& each) { return each.wanted; });
  }
  void tell(std::string_view method, std::string_view uri) const REQUIRES(mutex) {
    if (is_over()) return;
    JsonWriter out;
    out.begin_object().optional("uri", uri);
    write_meta(out);
    out.end_object();
    hearer->notify(method, out.text() == "{}" ? std::string_view() : out.text());
  }
  void write_meta(JsonWriter& out) const {
    if (listen) out.key("_meta").begin_object().key(kMetaSubscription).raw(listen->id.json()).end_object();
  }
  // Comes before all else that a request gets. False: it wants nothing.
  bool acknowledge() const REQUIRES(mutex) {
    JsonWriter out;
    out.begin_object().key("notifications").begin_object();
    for (std::size_t i = 0; i < lists.size(); ++i)
      if (lists[i].wanted) out.member(kLists[i].wish, true);
    if (!addresses.empty()) {
      out.key(kAddresses).begin_array();
      for (const auto& [uri, address] : addresses) out.string(uri);
      out.end_array();
    }
    out.end_object();
    write_meta(out);
    out.end_object();
    hearer->notify("notifications/subscriptions/acknowledged", out.text());
    return wants();
  }
};

// One look: the lists of a directory are made once for all who work there.
struct Changes::Look {
  std::map<std::string, Sum> tools{}, prompts{};  // by directory
};

Changes::Changes(const Means& means) : means_(means), known_(means.runtime.store()) {}

Changes::~Changes() { end(); }

// ---- what there is

Changes::Sum Changes::sum_of(const From& client, List list, Look& look) {
  if (list == List::kResources) {
    const MutexLock lock(known_mutex_);
    if (!known_.catch_up()) return std::nullopt;
    return known_.list_of(client->place().project);
  }
  auto& made = list == List::kTools ? look.tools : look.prompts;
  const auto [at, is_new] = made.try_emplace(client->place().cwd);
  if (!is_new) return at->second;
  if (list == List::kTools) {
    if (const auto tools = client->tools()) at->second = sum_of_tools(*tools);
  } else if (const auto workplace = client->workplace()) {
    at->second = sum_of_prompts(**workplace);
  }
  return at->second;
}

Result<Changes::Address, Fault> Changes::address_of(Era era, std::string_view uri) {
  if (uri.empty()) return bad_params("'uri' names a resource");
  AGENTD_TRY(ResourcePlace place, find_resource(means_.runtime, era, uri));
  const MutexLock lock(known_mutex_);
  if (const auto caught_up = known_.catch_up(); !caught_up) return Fault{{kRpcInternal, caught_up.error().message}};
  const std::uint64_t revision = known_.revision_of(place.conversation);
  return Address{std::move(place), revision};
}

// A checkpoint has changed where what was appended since is about it, or was an erasure.
bool Changes::has_changed(Address& address) {
  const std::uint64_t now = known_.revision_of(address.place.conversation);
  const std::uint64_t before = std::exchange(address.revision, now);
  if (now == before) return false;
  if (address.place.checkpoint.empty() || now < before) return true;
  bool found = false;
  const auto read =
      means_.runtime.store().read(address.place.conversation, before + 1, now, [&](const StoredRecord& each) {
        found = each.record.type == RecordType::kErase;
        if (each.record.type != RecordType::kCheckpoint) return !found;
        const auto checkpoint = read_checkpoint(each.record);
        found = checkpoint && checkpoint->id == address.place.checkpoint;
        return !found;
      });
  return found || !read;
}

// ---- the legacy era

Changes::Shared Changes::watch_of(const Client& client) const {
  const auto found =
      std::find_if(watches_.begin(), watches_.end(), [&](const Shared& each) { return each->is_of(client); });
  return found == watches_.end() ? nullptr : *found;
}

// Null: nothing is begun any more.
Changes::Shared Changes::make_watch(const From& client) {
  const MutexLock lock(mutex_);
  if (ends_) return nullptr;
  Shared watch = watch_of(*client);
  if (!watch) watch = watches_.emplace_back(std::make_shared<Watch>(client));
  return watch;
}

bool Changes::hear(const From& client, std::shared_ptr<Hearer> hearer) {
  const Shared watch = make_watch(client);
  if (!watch) return false;
  {
    const MutexLock lock(watch->mutex);
    if (watch->is_heard()) return false;
    watch->hearer = std::move(hearer);
  }
  wake();
  return true;
}

bool Changes::is_heard(const Client& client) const {
  const MutexLock lock(mutex_);
  const Shared watch = watch_of(client);
  if (!watch) return false;
  const MutexLock watch_lock(watch->mutex);
  return watch->is_heard();
}

void Changes::watch(const From& client, List list) {
  const Shared watch = make_watch(client);
  if (!watch) return;
  {
    const MutexLock lock(watch->mutex);
    if (watch->lists[place_of(list)].wanted) return;
  }
  Look look;
  const Sum sum = sum_of(client, list, look);
  {
    const MutexLock lock(watch->mutex);
    ListMark& mark = watch->lists[place_of(list)];
    if (!mark.wanted) mark = {true, sum};
  }
  wake();
}

std::optional<Fault> Changes::subscribe(const From& client, JsonView params) {
  const std::string uri(params["uri"].string_or(""));
  const auto address = address_of(Era::kLegacy, uri);
  if (!address) return address.error();
  const Shared watch = make_watch(client);
  if (!watch) return server_ends();
  {
    const MutexLock lock(watch->mutex);
    if (!watch->addresses.contains(uri) && watch->addresses.size() >= kAddressesMax) return too_many_addresses();
    watch->addresses.try_emplace(uri, *address);
  }
  wake();
  return std::nullopt;
}

std::optional<Fault> Changes::unsubscribe(const From& client, JsonView params) {
  const std::string uri(params["uri"].string_or(""));
  const Shared watch = make_watch(client);
  if (!watch) return server_ends();
  const MutexLock lock(watch->mutex);
  if (watch->addresses.erase(uri) == 0)
    return bad_params("'" + one_line(uri, 120) + "' was not subscribed to by this client");
  return std::nullopt;
}

void Changes::forget(const Client& client) {
  Shared watch;
  {
    const MutexLock lock(mutex_);
    watch = watch_of(client);
    std::erase(watches_, watch);
  }
  if (!watch) return;
  const MutexLock lock(watch->mutex);
  watch->hearer = nullptr;
}

// ---- the modern era

std::optional<Fault> Changes::read_wish(Watch& watch, const From& client, JsonView wish) {
  if (!wish.is_object()) return bad_params("'notifications' is an object that says what is to be told");
  const JsonView uris = wish[kAddresses];
  if (uris.exists() && !uris.is_array()) return bad_params("'resourceSubscriptions' is an array of addresses");
  if (uris.size() > kAddressesMax) return too_many_addresses();
  std::map<std::string, Address> addresses;
  for (std::size_t i = 0; i < uris.size(); ++i) {
    const auto address = address_of(Era::kModern, uris.at(i).string_or(""));
    if (!address) return address.error();
    addresses.try_emplace(std::string(uris.at(i).string_or("")), *address);
  }
  std::array<ListMark, kLists.size()> lists;
  Look look;
  for (std::size_t i = 0; i < lists.size(); ++i)
    if (wish[kLists[i].wish].bool_or(false)) lists[i] = {true, sum_of(client, static_cast<List>(i), look)};
  const MutexLock lock(watch.mutex);
  watch.lists = lists;
  watch.addresses = std::move(addresses);
  return std::nullopt;
}

std::optional<Fault> Changes::listen(const From& client, JsonView params, Listen listen) {
  if (!listen.to->can_notify())
    return Fault{{kRpcBadRequest, "the answer is a stream: the request must accept text/event-stream"}, 406};
  const Shared watch = std::make_shared<Watch>(client, std::move(listen));
  if (auto fault = read_wish(*watch, client, params["notifications"])) return fault;
  bool wants = false, begun = false;
  {
    const MutexLock lock(mutex_);
    if (ends_) return server_ends();
    const auto open = std::count_if(watches_.begin(), watches_.end(), [](const Shared& each) { return each->listen; });
    if (static_cast<std::size_t>(open) >= kListensMax)
      return Fault{{kRpcInternal, "too many subscriptions are open: end one of them, or try again later"}, 503};
  }
  {
    const MutexLock lock(watch->mutex);
    wants = watch->acknowledge();
  }
  {
    const MutexLock lock(mutex_);
    begun = wants && !ends_;
    if (begun) watches_.push_back(watch);
  }
  if (!begun) end_listen(*watch, true);
  wake();
  return std::nullopt;
}

void Changes::end_listen(Watch& watch, bool answered) {
  Dress dress{Era::kModern, means_.version};
  dress.subscription = watch.listen->id.json();
  if (answered)
    watch.listen->to->answer(dressed("{}", dress));
  else
    watch.listen->to->drop();
  watch.held->done(watch.listen->number);
}

void Changes::keep_alive() {
  std::vector<Shared> watches;
  {
    const MutexLock lock(mutex_);
    std::erase_if(watches_, [](const Shared& each) { return each->client.expired(); });
    watches = watches_;
  }
  for (const Shared& each : watches) {
    const MutexLock lock(each->mutex);
    if (!each->listen && !each->is_heard()) each->hearer = nullptr;
    if (each->hearer) each->hearer->still_here();
  }
}

// ---- looking

bool Changes::is_needed() const {
  return std::any_of(watches_.begin(), watches_.end(), [](const Shared& each) {
    const MutexLock lock(each->mutex);
    return each->is_heard() && each->wants();
  });
}

void Changes::wake() {
  const MutexLock lock(mutex_);
  changed_.notify_all();
  if (ends_ || thread_.joinable() || !is_needed()) return;
  const SignalsBlocked blocked;
  try {
    thread_ = Thread([this] { work(); });
  } catch (const std::system_error&) {
    return;  // the next call tries again
  }
}

void Changes::work() {
  MutexLock lock(mutex_);
  while (!ends_) {
    if (!is_needed()) {
      changed_.wait(mutex_);
      continue;
    }
    const Clock& clock = means_.runtime.clock();
    for (const Deadline next = Deadline::after(clock, kChangesLook); !ends_ && !next.passed(clock);)
      changed_.wait_until(mutex_, clock, next);
    if (ends_) return;
    lock.unlock();
    look();
    lock.lock();
  }
}

void Changes::look() {
  std::vector<Shared> watches, over;
  {
    const MutexLock lock(mutex_);
    const auto is_over = [](const Shared& each) { return each->is_over(); };
    std::copy_if(watches_.begin(), watches_.end(), std::back_inserter(over), is_over);
    std::erase_if(watches_, is_over);
    watches = watches_;
  }
  for (const Shared& each : over) end_listen(*each, false);
  Look look;
  for (const Shared& each : watches) look_at(*each, look);
}

void Changes::look_at(Watch& watch, Look& look) {
  const From client = watch.client.lock();
  if (!client) return;
  std::array<ListMark, kLists.size()> lists;
  {
    const MutexLock lock(watch.mutex);
    if (!watch.is_heard()) return;
    lists = watch.lists;
  }
  std::array<Sum, kLists.size()> sums;
  for (std::size_t i = 0; i < sums.size(); ++i)
    if (lists[i].wanted) sums[i] = sum_of(client, static_cast<List>(i), look);
  const MutexLock lock(watch.mutex);
  if (!watch.is_heard()) return;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (!sums[i]) continue;
    const Sum before = std::exchange(watch.lists[i].seen, sums[i]);
    if (before && before != sums[i]) watch.tell(kLists[i].method, {});
  }
  if (watch.addresses.empty()) return;
  const MutexLock known_lock(known_mutex_);
  if (!known_.catch_up()) return;
  for (auto& [uri, address] : watch.addresses)
    if (has_changed(address)) watch.tell("notifications/resources/updated", uri);
}

void Changes::end() {
  Thread thread;
  {
    const MutexLock lock(mutex_);
    ends_ = true;
    changed_.notify_all();
    thread = std::move(thread_);
  }
  if (thread.joinable()) thread.join();
  std::vector<Shared> watches;
  {
    const MutexLock lock(mutex_);
    watches.swap(watches_);
  }
  for (const Shared& each : watches) {
    if (each->listen) {
      end_listen(*each, !each->is_over());
      continue;
    }
    const MutexLock lock(each->mutex);
    each->hearer = nullptr;
  }
}

}  // namespace agentd::mcp
