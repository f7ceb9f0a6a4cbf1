// SPDX-License-Identifier: Apache-2.0
#include "core/net/io_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/signals_blocked.h"
#include "core/base/thread.h"
#include "core/base/thrown.h"

namespace agentd {
namespace {

// The longest delay of a cancellation; a token cannot wake the thread.
constexpr std::uint64_t kLookNs = 50'000'000;
// Idle connections kept for the next request.
constexpr long kIdleConnectionsMax = 128;

constexpr std::uint64_t kMillisecondNs = 1'000'000;

Error client_ended() { return {Code::kCancelled, "the request was cancelled: its client has ended"}; }

void ring(const UniqueFd& bell) {
  const std::uint64_t one = 1;
  // The write may fail when the bell already rings.
  [[maybe_unused]] const ssize_t written = ::write(bell.get(), &one, sizeof one);
}

}  // namespace

void IoLoop::stop() {
  Thread ended;
  {
    const MutexLock lock(mutex_);
    stops_ = true;
    if (!thread_.joinable()) {
      closed_ = true;
      return;
    }
    ring(bell_);
    ended = std::move(thread_);
  }
  ended.join();
}

void IoLoop::end_soon() {
  const MutexLock lock(mutex_);
  stops_ = true;
  if (thread_.joinable())
    ring(bell_);
  else
    closed_ = true;
}

Result<void> IoLoop::start() {
  const MutexLock lock(mutex_);
  if (stops_ || thread_.joinable()) return {};
  epoll_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  bell_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = bell_.get();
  if (!epoll_.valid() || !bell_.valid() || ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, bell_.get(), &event) != 0)
    return Error{Code::kUnavailable, std::string("the transfer cannot be started: ") + std::strerror(errno)};
  const SignalsBlocked blocked;
  try {
    thread_ = Thread([this] { run(); });
  } catch (const std::system_error& error) {
    return Error{Code::kUnavailable, std::string("the transfer cannot be started: ") + error.code().message()};
  }
  return {};
}

void IoLoop::attend(std::shared_ptr<Transfer> transfer) {
  const MutexLock lock(mutex_);
  if (closed_) return transfer->finish(client_ended());
  knocks_.push_back(std::move(transfer));
  if (knocks_.size() == 1) ring(bell_);
}

void IoLoop::run() {
  ::pthread_setname_np(::pthread_self(), "agentd-net");
  // Loading takes milliseconds, in which the first request is prepared.
  [[maybe_unused]] const Result<void> loaded = open();
  while (auto transfers = knocks()) {
    const std::string thrown = thrown_by([&] {
      for (const auto& transfer : *transfers) look_at(transfer);
      wait_and_move(next_look());
      take_ended();
      check_times();
    });
    if (!thrown.empty()) give_up(*transfers, thrown);
  }
  close();
}

// Ends all running transfers; later ones may succeed.
void IoLoop::give_up(const std::vector<std::shared_ptr<Transfer>>& looked_at, const std::string& why) {
  const Error error{Code::kUnavailable, "a transfer could not continue: " + why};
  while (!active_.empty()) end(active_.begin()->first, error);
  for (const auto& transfer : looked_at)
    if (!transfer->over()) transfer->finish(error);
}

// The transfers to check; nothing when the loop is to end.
std::optional<std::vector<std::shared_ptr<Transfer>>> IoLoop::knocks() {
  const MutexLock lock(mutex_);
  if (stops_) return std::nullopt;
  return std::exchange(knocks_, {});
}

Result<void> IoLoop::open() {
  if (multi_ != nullptr) return {};
  if (curl_ == nullptr) {
    AGENTD_TRY(curl_, CurlLibrary::load());
  }
  multi_ = curl_->multi_init();
  share_ = multi_ == nullptr ? nullptr : curl_->share_init();
  if (share_ == nullptr) {
    if (multi_ != nullptr) curl_->multi_cleanup(std::exchange(multi_, nullptr));
    return Error{Code::kUnavailable, "libcurl cannot start a transfer: out of memory or descriptors"};
  }
  curl_->share_setopt(share_, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
  curl_->multi_setopt(multi_, CURLMOPT_MAXCONNECTS, kIdleConnectionsMax);
  curl_->multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &IoLoop::socket_callback);
  curl_->multi_setopt(multi_, CURLMOPT_SOCKETDATA, static_cast<void*>(this));
  curl_->multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &IoLoop::timer_callback);
  curl_->multi_setopt(multi_, CURLMOPT_TIMERDATA, static_cast<void*>(this));
  return {};
}

void IoLoop::close() {
  while (!active_.empty()) end(active_.begin()->first, client_ended());
  if (share_ != nullptr) {
    curl_->multi_cleanup(multi_);
    curl_->share_cleanup(share_);
  }
  const MutexLock lock(mutex_);
  closed_ = true;
  for (const auto& transfer : std::exchange(knocks_, {})) transfer->finish(client_ended());
}

void IoLoop::look_at(const std::shared_ptr<Transfer>& transfer) {
  if (transfer->over()) return;
  if (transfer->easy() == nullptr) return begin(transfer);
  CURL* const easy = transfer->easy();
  if (auto goes_on = transfer->attend(); !goes_on) end(easy, goes_on);
}

void IoLoop::begin(const std::shared_ptr<Transfer>& transfer) {
  if (auto ready = open(); !ready) return transfer->finish(ready);
  CURL* const easy = transfer->open(*curl_, share_);
  const CURLMcode added = easy == nullptr ? CURLM_OUT_OF_MEMORY : curl_->multi_add_handle(multi_, easy);
  if (added != CURLM_OK)
    return transfer->finish(
        Error{Code::kUnavailable, std::string("libcurl cannot start a transfer: ") + curl_->multi_strerror(added)});
  active_.emplace(easy, transfer);
}

void IoLoop::end(CURL* easy, Result<void> outcome) {
  const auto found = active_.find(easy);
  if (found == active_.end()) return;
  const std::shared_ptr<Transfer> transfer = std::move(found->second);
  active_.erase(found);
  curl_->multi_remove_handle(multi_, easy);
  transfer->finish(std::move(outcome));
}

Deadline IoLoop::next_look() const { return {active_.empty() ? timer_ns_ : std::min(timer_ns_, looked_ns_ + kLookNs)}; }

void IoLoop::wait_and_move(Deadline deadline) {
  pollfd any{epoll_.get(), POLLIN, 0};
  (void)pace_.poll({&any, 1}, deadline);
  std::array<epoll_event, 64> events{};
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  int running = 0;
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    if (event.data.fd == bell_.get()) {
      std::uint64_t rings = 0;
      [[maybe_unused]] const ssize_t got = ::read(bell_.get(), &rings, sizeof rings);
      continue;
    }
    // Any other event is an error, which libcurl detects itself.
    const int ready =
        ((event.events & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) | ((event.events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0);
    curl_->multi_socket_action(multi_, event.data.fd, ready, &running);
  }
  if (timer_ns_ > pace_.monotonic_ns()) return;
  timer_ns_ = Deadline::kNever;
  curl_->multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
}

void IoLoop::take_ended() {
  int left = 0;
  while (const CURLMsg* const message = multi_ == nullptr ? nullptr : curl_->multi_info_read(multi_, &left)) {
    const auto found = active_.find(message->easy_handle);
    // The message is freed with its handle.
    if (message->msg == CURLMSG_DONE && found != active_.end())
      end(found->first, found->second->judge(message->data.result));
  }
}

void IoLoop::check_times() {
  const std::uint64_t now = pace_.monotonic_ns();
  if (now - looked_ns_ < kLookNs) return;
  looked_ns_ = now;
  const auto is_over = [](const auto& each) { return !each.second->check_time(); };
  // After a pause of this process, bytes that already wait in the socket must not count as silence.
  if (std::any_of(active_.begin(), active_.end(), is_over)) {
    wait_and_move(Deadline{looked_ns_});
    take_ended();
  }
  std::vector<std::pair<CURL*, Error>> over;
  for (const auto& [easy, transfer] : active_)
    if (auto in_time = transfer->check_time(); !in_time) over.emplace_back(easy, in_time.error());
  for (auto& [easy, error] : over) end(easy, std::move(error));
}

int IoLoop::socket_callback(CURL* /*easy*/, curl_socket_t socket, int what, void* self, void* /*unused*/) {
  const int epoll = static_cast<IoLoop*>(self)->epoll_.get();
  epoll_event event{};
  event.data.fd = socket;
  if (what == CURL_POLL_REMOVE) {
    ::epoll_ctl(epoll, EPOLL_CTL_DEL, socket, &event);
    return 0;
  }
  if (what == CURL_POLL_IN || what == CURL_POLL_INOUT) event.events |= EPOLLIN;
  if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT) event.events |= EPOLLOUT;
  if (::epoll_ctl(epoll, EPOLL_CTL_MOD, socket, &event) == 0) return 0;
  return ::epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event) == 0 ? 0 : -1;
}

int IoLoop::timer_callback(CURLM* /*multi*/, long ms, void* self) {
  auto& loop = *static_cast<IoLoop*>(self);
  loop.timer_ns_ =
      ms < 0 ? Deadline::kNever : loop.pace_.monotonic_ns() + static_cast<std::uint64_t>(ms) * kMillisecondNs;
  return 0;
}

}  // namespace agentd
