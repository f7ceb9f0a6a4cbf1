// SPDX-License-Identifier: Apache-2.0
#pragma once
// one_process.h - sessions of one process, on the store on disk, with a played model and without hooks.
//
// Threading: OneProcess is thread-safe; a Session is used by one thread at a time.

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/place.h"
#include "core/agent/agent.h"
#include "core/bridge/token_table.h"
#include "core/recipes/recipes.h"
#include "tests/support/temp_dir.h"

namespace agentd::bench {

// The pieces of every answer. The provider `scripted` sends pieces of the same size.
inline constexpr std::string_view kPiece = "24 bytes of a long text ";
inline constexpr int kPieces = 20;
inline constexpr Milliseconds kBetweenPieces{10};
inline constexpr double kAnswerMs = kPieces * 10.0;

// From /proc/PID; 0 for a process that has ended.
double status_number(const std::string& pid, const std::string& name);
std::size_t descriptors(const std::string& pid);

class PacedModel final : public ModelProvider {
 public:
  enum class Answer {
    kAtOnce,
    kPaced,
    kHeld,  // nothing, until another one is set
    kCall,  // of the tool `touch`
  };
  explicit PacedModel(const Clock& clock) : clock_(clock) {}
  std::string_view name() const override { return "paced"; }
  ModelResult complete(const ModelRequest& request, ModelSink& sink, const CancelToken& cancel, Deadline) override;
  void set(Answer answer) { answer_ = answer; }
  std::size_t held() const { return held_; }  // the requests that wait for another answer

 private:
  const Clock& clock_;
  std::atomic<Answer> answer_ = Answer::kAtOnce;
  std::atomic<std::size_t> held_ = 0;
};

// Offers `touch`, which the user has to allow and nobody runs, or nothing.
class OneTool final : public ToolSource {
 public:
  explicit OneTool(bool offers) : offers_(offers) {}
  std::vector<Tool> tools() const override;
  Result<ToolOutcome> call(const SessionContext&, const ToolCall&, const CancelToken&, Deadline) override;

 private:
  const bool offers_;
};

class OneProcess {
 public:
  enum class Use {
    kTalk,
    kPark,  // its sessions have a tool, and every turn ends with a question that nobody is there to answer
  };
  // The store is made in a directory of its own in `parent`.
  explicit OneProcess(const std::string& parent, Use use = Use::kTalk);
  ~OneProcess();

  std::unique_ptr<Session> open();
  // One run; it must end as `use` says.
  void turn(Session& session) const;
  PacedModel& model() { return model_; }
  const Clock& clock() const { return clock_; }
  Store& store() { return *store_; }

 private:
  class NoEvents final : public EventSink {
   public:
    void on_event(const RunEvent&) override {}
  };
  class NoLog final : public Log {
   public:
    void write(LogLevel, std::string_view, std::string_view) override {}
  };
  RuntimeParts parts();

  const bool parks_;
  const testing::TempDir directory_;
  const SystemClock clock_;
  std::unique_ptr<Store> store_;
  IdSource ids_{clock_};
  NoLog log_;
  PacedModel model_{clock_};
  const ModelTable models_ = *ModelTable::parse(
      R"({"models":[{"pattern":"m-","provider":"paced","window":200000,"max_output":2000,"summary_model":"m-1"}]})");
  const SimpleEstimator estimator_;
  RecipeBook prompts_{{}, log_};
  TokenTable tokens_;
  Dispatcher dispatcher_{clock_};
  OneTool tools_{parks_};
  NoEvents events_;
  AgentOptions options_;
  AgentServicesPtr services_;
  std::unique_ptr<Agent> agent_;
};

}  // namespace agentd::bench
