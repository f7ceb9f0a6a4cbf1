// SPDX-License-Identifier: Apache-2.0
// The token table against a model: any order of calls that begin, answer, complete and end, with
// tokens of any age. Only the token of a call that runs and is not completed may do anything.
#include <map>
#include <vector>

#include "core/bridge/token_table.h"
#include "tests/fuzz/target.h"

namespace {

using namespace agentd;

struct Model {
  agentd_token open = 0;   // the call that runs; 0 = none
  bool completed = false;  // its token is stale already
  std::size_t actions = 0;
};

class Play {
 public:
  explicit Play(fuzz::Script script) : script_(script) {}
  ~Play() {
    for (CallSlot* slot : slots_) table_.release(slot);
  }

  void run() {
    for (int steps = 0; steps < 400 && !script_.ended(); ++steps) step();
  }

 private:
  void step() {
    switch (script_.below(10)) {
      case 0:
        return acquire();
      case 1:
        return release();
      case 2:
      case 3:
        return open();
      case 4:
        return close();
      case 5:
        return emit();
      case 6:
        return complete();
      case 7:
        return find();
      case 8:
        return allocate();
      case 9:
        return fail();
    }
  }

  CallSlot* slot() {
    return slots_.empty() ? nullptr : slots_[script_.below(static_cast<std::uint32_t>(slots_.size()))];
  }
  // One that was handed out, or one that nobody ever had and that names nothing. (The number that a
  // slot has between two calls can be guessed; what is said to it is lost, and a worker's guesses
  // never come this far.)
  agentd_token token() {
    if (tokens_.empty() || script_.below(8) == 0) {
      const agentd_token guess = std::uint64_t{script_.u32()} << 24 | script_.byte();
      if (tokens_.empty() || table_.find(guess) == nullptr) return table_.find(guess) == nullptr ? guess : 0;
    }
    return tokens_[script_.below(static_cast<std::uint32_t>(tokens_.size()))];
  }
  Model* owner(agentd_token of) {
    for (auto& [at, model] : models_)
      if (of != 0 && model.open == of) return &model;
    return nullptr;
  }

  void acquire() {
    if (slots_.size() == 6) return;
    CallSlot* const got = table_.acquire();
    fuzz::require(got != nullptr && models_[got].open == 0 && !held(got), "a slot is lent once");
    fuzz::require(!got->touched(), "a lent slot is clean");
    slots_.push_back(got);
  }
  bool held(const CallSlot* of) const {
    for (const CallSlot* each : slots_)
      if (each == of) return true;
    return false;
  }
  void release() {
    CallSlot* const of = slot();
    if (of == nullptr) return;
    table_.release(of);
    models_[of] = {};
    std::erase(slots_, of);
  }
  void open() {
    CallSlot* const of = slot();
    if (of == nullptr || models_[of].open != 0) return;
    const agentd_token got = of->open(nullptr);
    fuzz::require(got != 0, "no token is 0");
    for (agentd_token each : tokens_) fuzz::require(each != got, "a token is handed out once");
    tokens_.push_back(got);
    models_[of] = {got, false, 0};
  }
  void close() {
    CallSlot* const of = slot();
    if (of == nullptr || models_[of].open == 0) return;
    const std::size_t expected = models_[of].actions;
    fuzz::require(of->take_answer().actions.size() == expected, "every action arrives once");
    of->end_call(ManualClock());
    of->close();
    of->clean();
    models_[of] = {};
  }
  void emit() {
    const agentd_token of = token();
    Model* const model = owner(of);
    CallSlot* const at = table_.find(of);
    Action action;
    action.kind = AGENTD_ACT_BLOCK;
    const bool taken = at != nullptr && at->emit(of, std::move(action));
    fuzz::require(taken == (model != nullptr && !model->completed), "only a running call may answer");
    if (taken) ++model->actions;
    if (taken) ++fuzz::got_through;
  }
  void complete() {
    const agentd_token of = token();
    Model* const model = owner(of);
    CallSlot* const at = table_.find(of);
    const bool taken = at != nullptr && at->complete(of, AGENTD_OK);
    fuzz::require(taken == (model != nullptr && !model->completed), "a call is completed once");
    if (taken) model->completed = true;
  }
  void find() {
    const agentd_token of = token();
    CallSlot* const at = table_.find(of);
    fuzz::require(owner(of) == nullptr || at != nullptr, "a running call is found");
    if (at != nullptr) fuzz::require(at->index() == (of & 0xffffff), "it is found where it is");
  }
  void allocate() {
    const agentd_token of = token();
    Model* const model = owner(of);
    CallSlot* const at = table_.find(of);
    const std::size_t bytes = script_.byte() * 16u, align = std::size_t{1} << script_.below(7);
    auto* const got = static_cast<char*>(at == nullptr ? nullptr : at->allocate(of, bytes, align));
    if (model == nullptr || model->completed) return fuzz::require(got == nullptr, "a stale token has no memory");
    fuzz::require(got != nullptr && reinterpret_cast<std::uintptr_t>(got) % align == 0, "memory is aligned");
    std::memset(got, 0x5a, bytes);
  }
  void fail() {
    const agentd_token of = token();
    Model* const model = owner(of);
    CallSlot* const at = table_.find(of);
    const bool taken = at != nullptr && at->fail(of, AGENTD_E_IO, "why");
    fuzz::require(taken == (model != nullptr && !model->completed), "only a running call may fail");
  }

  fuzz::Script script_;
  TokenTable table_;
  std::vector<CallSlot*> slots_;
  std::map<CallSlot*, Model> models_;
  std::vector<agentd_token> tokens_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Play(fuzz::Script(data, size)).run();
  return 0;
}
