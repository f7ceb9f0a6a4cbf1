// SPDX-License-Identifier: Apache-2.0
#pragma once
// means.h - what the process of a server lends to it, and the answer that a request gets.
//
// Threading: thread-safe.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/mcp/protocol.h"
#include "core/workplace/workplace.h"

namespace agentd::mcp {

// All that it refers to outlives the server.
struct Means {
  Runtime& runtime;
  // The project of a directory with its hooks loaded. kNotFound, kUsage, kBusy.
  std::function<Result<std::shared_ptr<Workplace>, RunError>(const std::string& cwd)> workplace_at;
  // Does the work on a thread of its own. False: there are too many.
  std::function<bool(std::function<void()> work)> start;
  std::string version;     // of agentd
  std::string no_model{};  // why no model can be asked; empty = one can
};

// Where a client hears what it has not asked for.
class Hearer {
 public:
  virtual ~Hearer() = default;
  virtual void notify(std::string_view method, std::string_view params) = 0;
  // Nothing is told: the stream, if it is one, goes on.
  virtual void still_here() {}
  // True once nobody hears it any more.
  virtual bool has_left() const { return false; }
};

// The other end of one request, which is answered once; it is notified in front of the answer.
class Answerer : public Hearer {
 public:
  virtual void answer(std::string result) = 0;
  virtual void refuse(const Fault& fault) = 0;
  // The request was cancelled: its client waits for no answer.
  virtual void drop() = 0;
  // The fields of HTTP that the request came with, by their names in lower case; without them it came by another way.
  virtual bool has_fields() const { return false; }
  virtual std::optional<std::string> field(const std::string&) const { return std::nullopt; }
  // False: nothing can be told in front of the answer.
  virtual bool can_notify() const { return true; }
};

}  // namespace agentd::mcp
