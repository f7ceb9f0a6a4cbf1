// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/worker/test_worker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/isolation/message_shapes.h"
#include "core/process/zygote.h"

namespace agentd::testing {
namespace {

// A module as a host hands it over: a memory file that nobody else can write.
UniqueFd sealed_copy(const std::string& path) {
  auto bytes = read_file(path, 64u << 20);
  EXPECT_TRUE(bytes) << path;
  UniqueFd fd(::memfd_create("module", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_TRUE(write_all(fd.get(), bytes.value_or("")));
  ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  return fd;
}

std::string text_of(const agentd_str& text) {
  return text.ptr == nullptr ? std::string() : std::string(text.ptr, text.len);
}

agentd_str abi(std::string_view text) { return {text.data(), text.size()}; }

std::vector<agentd_str> abi(const std::vector<std::string>& texts) {
  std::vector<agentd_str> out;
  for (const std::string& text : texts) out.push_back(abi(std::string_view(text)));
  return out;
}

agentd_list list_of(const std::vector<agentd_str>& texts) {
  return {texts.data(), static_cast<std::uint32_t>(texts.size()), sizeof(agentd_str)};
}

std::string text_of_action(const agentd_action* action) {
  const std::string kind = std::to_string(action->kind) + ":";
  switch (action->kind) {
    case AGENTD_ACT_COMPACT:
      return kind + text_of(reinterpret_cast<const agentd_act_compact*>(action)->instructions);
    case AGENTD_ACT_REPLACE_MESSAGES: {
      const agentd_list& parts = reinterpret_cast<const agentd_act_replace*>(action)->parts;
      return kind + std::to_string(parts.count);
    }
    case AGENTD_ACT_SET:
      return kind + text_of(reinterpret_cast<const agentd_act_set*>(action)->text);
    case AGENTD_ACT_PERMISSION:
      return kind + text_of(reinterpret_cast<const agentd_act_permission*>(action)->reason);
    case AGENTD_ACT_CALLBACK:
      return kind + text_of(reinterpret_cast<const agentd_act_recipe*>(action)->name);
    case AGENTD_ACT_TOOL_RESULT:
      return kind + text_of(reinterpret_cast<const agentd_act_tool_result*>(action)->structured_json);
    default:
      return kind + text_of(reinterpret_cast<const agentd_act_text*>(action)->text);
  }
}

}  // namespace

std::string Asked::text(std::size_t index) const { return text_of(args->text[index]); }

TestWorker::TestWorker(WorkerStartOptions options) : options_(std::move(options)) {
  auto window = PayloadWindow::create(options_.window_skip);
  auto region = AnswerRegion::create(options_.call_lanes);
  EXPECT_TRUE(window && region);
  if (!window || !region) return;
  window_ = std::move(*window);
  region_ = std::move(*region);
  live_ = window_->acquire_live();
  const UniqueFd module = sealed_copy(options_.module);
  start(module.get());
}

TestWorker::~TestWorker() {
  if (child_.pid > 0) ::kill(child_.pid, SIGKILL);
  if (zygote_) (void)reap(*zygote_, "the zygote", true);  // its socket is closed
  if (waiter_.joinable()) waiter_.join();
  if (listener_.joinable()) listener_.join();
}

Result<Child> TestWorker::make_process(std::span<const int> pass) {
  const std::vector<std::string> environment{"PATH=/usr/bin:/bin"};
  const std::string self = std::to_string(::getpid());
  if (!options_.zygote) {
    const std::vector<std::string> argv{AGENTD_WORKER_PROGRAM, "puppet", self};
    SpawnRequest request{argv, environment, "/"};
    request.pass = pass;
    return spawn(request);
  }
  std::string ground = "sandbox";
  for (const std::string& each : options_.capabilities) ground += "," + each;
  if (options_.unconfined) ground = "off";
  constexpr Milliseconds kTime{20'000};
  AGENTD_TRY(Zygote zygote, Zygote::start({AGENTD_WORKER_PROGRAM, "zygote", self + ":" + ground}, environment,
                                          Offspring::kAny, kTime));
  zygote_.emplace(zygote.take_process());
  const Zygote::Wish wishes[] = {{.arguments = {"puppet", self}, .pass = {pass.begin(), pass.end()}}};
  return std::move(zygote.fork(wishes, kTime).at(0));
}

void TestWorker::start(int module_fd) {
  // The last one is none of its: it must not come to the hook.
  const int pass[] = {module_fd, window_->fd(), region_->fd(), window_->fd()};
  auto child = make_process(pass);
  ASSERT_TRUE(child) << child.error().message;
  child_ = std::move(*child);
  waiter_ = std::thread([this] {
    pollfd ended{child_.pidfd.get(), POLLIN, 0};
    while (::poll(&ended, 1, -1) < 0) {
    }
    ::waitpid(child_.pid, &status_, 0);
    gone_.store(1);
    region_->wake_all();
    AnswerRegion::raise(alarm_);
  });
  listener_ = std::thread([this] { listen(); });
  boot();
}

void TestWorker::boot() {
  const std::vector<agentd_str> interfaces = abi(options_.interfaces), capabilities = abi(options_.capabilities),
                                readable = abi(options_.readable), writable = abi(options_.writable);
  BootArgs args;
  args.protocol = options_.protocol;
  args.scan_only = options_.scan_only ? 1 : 0;
  args.name = abi("puppet");
  args.services = options_.services;
  args.interfaces = list_of(interfaces);
  args.capabilities = list_of(capabilities);
  args.readable = list_of(readable);
  args.writable = list_of(writable);
  args.memory_bytes_max = options_.memory_bytes_max;
  args.window_base = options_.window_base.value_or(window_->base());
  args.unconfined = options_.unconfined ? 1 : 0;
  std::string body;
  ASSERT_TRUE(flatten(boot_args_shape(), &args, body));
  Lane lane = region_->call_lane(0, Lane::Side::kHost);
  LaneWait wait;
  wait.gone = &gone_;
  LaneMessage message;
  message.op = static_cast<std::uint32_t>(LaneOp::kBoot);
  ASSERT_EQ(lane.send(message, body, wait), LaneEnd::kMessage);
  if (lane.receive(message, body, wait) != LaneEnd::kMessage) {
    refusal_ = "the worker ended: " + output();
    return;
  }
  if (message.op == static_cast<std::uint32_t>(LaneOp::kDone)) {
    refusal_ = body;
    refusal_status_ = message.status;
    return;
  }
  ASSERT_EQ(message.op, static_cast<std::uint32_t>(LaneOp::kBooted));
  record_memory_ = FlatBytes(body);
  auto record = relocate(boot_reply_shape(), {record_memory_.data(), record_memory_.size()});
  ASSERT_TRUE(record);
  record_ = static_cast<const BootReply*>(*record);
  booted_ = true;
}

std::string TestWorker::id() const { return text_of(record_->id); }
std::string TestWorker::sandbox() const { return text_of(record_->sandbox); }

std::vector<std::string> TestWorker::notes() const {
  std::vector<std::string> out;
  for (std::uint32_t i = 0; i < record_->notes.count; ++i)
    out.push_back(text_of(static_cast<const agentd_str*>(record_->notes.first)[i]));
  return out;
}

void TestWorker::serve(Serve serve) {
  const std::lock_guard lock(mutex_);
  serve_ = std::move(serve);
}

std::vector<std::string> TestWorker::take_emitted() {
  const std::lock_guard lock(mutex_);
  return std::exchange(emitted_, {});
}
std::vector<std::string> TestWorker::take_failures() {
  const std::lock_guard lock(mutex_);
  return std::exchange(failures_, {});
}
std::vector<std::string> TestWorker::take_logs() {
  const std::lock_guard lock(mutex_);
  return std::exchange(logs_, {});
}

std::size_t TestWorker::requests(ServiceOp op, bool over_service_lane) {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::count(requests_.begin(), requests_.end(), std::pair(op, over_service_lane)));
}

agentd_status TestWorker::answer(const Asked& asked, ServiceReply& reply) {
  const std::lock_guard lock(mutex_);
  requests_.emplace_back(asked.op, asked.over_service_lane);
  if (asked.op == ServiceOp::kEmit)
    emitted_.push_back(text_of_action(static_cast<const agentd_action*>(asked.args->record[0])));
  if (asked.op == ServiceOp::kFail) failures_.push_back(asked.text(0));
  if (asked.op == ServiceOp::kLog) logs_.push_back(asked.text(0));
  return serve_ ? serve_(asked, reply) : AGENTD_OK;
}

bool TestWorker::serve_one(Lane& lane, const LaneMessage& request, const std::string& body, bool over_service_lane) {
  FlatBytes bytes(body);
  auto args = open_args({bytes.data(), bytes.size()});
  EXPECT_TRUE(args) << args.error().message;
  if (!args) return false;
  const Asked asked{request.token, static_cast<ServiceOp>((*args)->op), over_service_lane, *args};
  ServiceReply reply;
  LaneMessage message;
  message.op = static_cast<std::uint32_t>(LaneOp::kReply);
  message.status = answer(asked, reply);
  message.token = request.token;
  std::string out;
  auto flat = flatten(*reply_shape((*args)->op), &reply, out);
  EXPECT_TRUE(flat) << flat.error().message;
  LaneWait wait;
  wait.gone = &gone_;
  return lane.send(message, out, wait) == LaneEnd::kMessage;
}

void TestWorker::listen() {
  LaneMessage request;
  std::string body;
  LaneWait wait;
  wait.gone = &gone_;
  while (gone_.load() == 0) {
    std::uint32_t rang = 0;
    AnswerRegion::wait_rings({&region_, 1}, alarm_, 0, Deadline::kNever);
    (void)region_->take_rings(rang);
    for (std::uint32_t i = 0; i < AnswerRegion::kServiceLanes; ++i) {
      if ((rang & (1u << i)) == 0) continue;
      Lane lane = region_->service_lane(i, Lane::Side::kHost);
      if (lane.receive(request, body, wait) == LaneEnd::kMessage) serve_one(lane, request, body, true);
    }
  }
}

std::optional<agentd_status> TestWorker::call(LaneMessage message, std::uint32_t index) {
  Lane lane = region_->call_lane(index, Lane::Side::kHost);
  LaneWait wait;
  wait.gone = &gone_;
  message.op = static_cast<std::uint32_t>(LaneOp::kCall);
  message.live = reinterpret_cast<std::uintptr_t>(live_);
  if (message.token == 0) message.token = token_ += 1u << 24;
  std::string body;
  LaneEnd end = lane.send(message, {}, wait);
  for (;;) {
    if (end == LaneEnd::kMessage) end = lane.receive(message, body, wait);
    if (end != LaneEnd::kMessage) return std::nullopt;
    if (message.op == static_cast<std::uint32_t>(LaneOp::kDone)) return message.status;
    EXPECT_EQ(message.op, static_cast<std::uint32_t>(LaneOp::kService));
    if (!serve_one(lane, message, body, false)) end = LaneEnd::kGone;
  }
}

void TestWorker::send_garbage() {
  LaneMessage message;
  message.op = 99;
  LaneWait wait;
  wait.gone = &gone_;
  EXPECT_EQ(region_->call_lane(0, Lane::Side::kHost).send(message, "x", wait), LaneEnd::kMessage);
}

agentd_status TestWorker::create(const std::string& config, std::uint32_t lane) {
  agentd_create_info info{};
  info.size = sizeof info;
  info.isolation = AGENTD_ISOLATION_PROCESS;
  info.config_json = abi(std::string_view(config));
  PayloadWindow::Frame frame(*window_);
  auto placed = window_->place(frame, *payload_shape(AGENTD_EVENT_CREATE), &info);
  EXPECT_TRUE(placed);
  LaneMessage message;
  message.event = AGENTD_EVENT_CREATE;
  message.payload = reinterpret_cast<std::uintptr_t>(*placed);
  return call(message, lane).value_or(AGENTD_E_INTERNAL);
}

agentd_status TestWorker::control(std::uint32_t event, std::uint32_t lane) {
  LaneMessage message;
  message.event = event;
  return call(message, lane).value_or(AGENTD_E_INTERNAL);
}

agentd_status TestWorker::say(const std::string& text, std::uint32_t lane, std::uint32_t row) {
  agentd_user_message payload{};
  payload.size = sizeof payload;
  payload.text = abi(std::string_view(text));
  PayloadWindow::Frame frame(*window_);
  auto placed = window_->place(frame, *payload_shape(AGENTD_EVENT_USER_MESSAGE_SEND), &payload);
  EXPECT_TRUE(placed);
  LaneMessage message;
  message.event = AGENTD_EVENT_USER_MESSAGE_SEND;
  message.row = row;
  message.conversation = 77;
  message.payload = reinterpret_cast<std::uintptr_t>(*placed);
  return call(message, lane).value_or(AGENTD_E_INTERNAL);
}

std::string TestWorker::ask(const std::string& text) {
  (void)take_emitted();
  const agentd_status status = say(text);
  std::string out;
  for (const std::string& each : take_emitted()) out += (out.empty() ? "" : "|") + each.substr(each.find(':') + 1);
  return status == AGENTD_OK ? out : "status " + std::to_string(status);
}

agentd_status TestWorker::invoke_tool(std::uint64_t number, const std::string& input_json) {
  agentd_tool_call payload{};
  payload.size = sizeof payload;
  payload.name = abi("echo");
  payload.input_json = abi(std::string_view(input_json));
  payload.tool = number;
  PayloadWindow::Frame frame(*window_);
  auto placed = window_->place(frame, *payload_shape(AGENTD_EVENT_TOOL_INVOKE), &payload);
  EXPECT_TRUE(placed);
  LaneMessage message;
  message.event = AGENTD_EVENT_TOOL_INVOKE;
  message.payload = reinterpret_cast<std::uintptr_t>(*placed);
  return call(message, 0).value_or(AGENTD_E_INTERNAL);
}

int TestWorker::wait_end() {
  if (waiter_.joinable()) waiter_.join();
  child_.pid = -1;
  return status_;
}

std::string TestWorker::output() {
  std::string out;
  char buffer[4096];
  for (ssize_t got = 1; got > 0; out.append(buffer, static_cast<std::size_t>(std::max<ssize_t>(got, 0))))
    got = ::read(child_.output.get(), buffer, sizeof buffer);
  return out;
}

}  // namespace agentd::testing
