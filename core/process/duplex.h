// SPDX-License-Identifier: Apache-2.0
#pragma once
// duplex.h - a long-running program that is written to and read from over pipes until it is ended.
//
// Threading: read() and write() may be used by two threads at once, one each; the rest by the
// owner.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/process/command_cage.h"

namespace agentd {

struct DuplexRequest {
  std::string program;  // as in FilterRequest
  std::vector<std::string> argv;
  std::string cwd;
  std::vector<std::string> environment;
  std::uint64_t error_bytes_max = 64u << 10;  // kept of standard error, head and tail
  // As in FilterRequest. `ended` is told once what the cage found, when the program has been ended.
  std::shared_ptr<CommandCage> cage{};
  std::function<void(const CagedCommand::After&)> ended{};
};

class DuplexProcess {
 public:
  // The child has its own session and only descriptors 0 to 2, as filter.h says. `clock` outlives it.
  static Result<std::unique_ptr<DuplexProcess>> start(const DuplexRequest& request, const Clock& clock);
  virtual ~DuplexProcess() = default;  // ends it: SIGTERM, a grace of 200 ms, SIGKILL to all its descendants

  // Writes all of `bytes`, or returns kBusy (deadline), kCancelled or kUnavailable (the program ended or closed its
  // input). After an error a part may have been written, so the stream is unusable.
  virtual Result<void> write(std::string_view bytes, const CancelToken& cancel, Deadline deadline) = 0;
  // Returns 1 to `bytes_max` bytes; an empty text is the end of the output. kBusy and kCancelled as above, without loss
  // of data.
  virtual Result<std::string> read(std::size_t bytes_max, const CancelToken& cancel, Deadline deadline) = 0;
  virtual bool running() = 0;
  virtual std::string error_text() const = 0;  // standard error so far
};

}  // namespace agentd
