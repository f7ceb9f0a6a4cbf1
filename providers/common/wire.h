// SPDX-License-Identifier: Apache-2.0
#pragma once
// wire.h - converts the rows of a view to the messages of a wire format.
//
// Every provider's format has two speakers in turn, while a view may have consecutive rows of one role (a tool result
// and a hook's context, a summary and the user's next question).
//
// Threading: pure functions.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/conversation/rows.h"
#include "core/model/provider.h"

namespace agentd {

// Consecutive rows that become one message.
struct WireGroup {
  bool assistant = false;
  std::vector<const agentd_message*> rows;
};

// True if the row's block has content for the wire.
using WireFilter = std::function<bool(const agentd_message&, const agentd_block&)>;

// The rows in order, joined by role. Rows without a block that passes `sendable` are skipped and do not separate their
// neighbours. SUMMARY counts as user.
std::vector<WireGroup> group_rows(std::span<const agentd_message> rows, const WireFilter& sendable);

// True for a block of that kind with content for the wire: no blank text, no image or document without bytes or of a
// media type that no vendor accepts (accepted: JPEG, PNG, GIF and WebP; PDF).
bool is_text(const agentd_block& block);
bool is_media(const agentd_block& block);  // an image or a document
bool is_call(const agentd_block& block);
bool is_result(const agentd_block& block);
// True for such a block in a row of the right speaker: calls are the assistant's, media and results the user's. A
// history that hooks changed may have blocks in other places.
bool is_said(const agentd_message& row, const agentd_block& block);

// The schema of a tool's input in a form that all vendors accept: of type object, without oneOf, anyOf, allOf, enum and
// not at its top, and with properties if requested; unchanged where it is already. Schemas come from plugins and
// servers, and a bad one must not spoil the complete body. kInvalid, with the tool's name and origin, unless the schema
// is empty or a JSON object.
enum class SchemaForm { kObject, kProperties };
Result<std::string> wire_schema(const ToolSpec& tool, SchemaForm form);

// The name of a tool in a call in a form that all vendors accept, because models also call tools that were never
// offered, and the history goes to each vendor. Unchanged when it has 1 to 64 letters, digits, '_' and '-' and begins
// with neither a digit nor '-'; otherwise the closest such name.
std::string wire_name(std::string_view name);
// The id of a call in a vendor's form, at most `most` (at least 40) bytes of letters, digits, '_' and '-': unchanged
// when it fits, otherwise derived from it, equally in every request.
std::string wire_call_id(std::string_view id, std::size_t most);

// The wire ids of a request's calls and results. Each id names one call, whatever the rows contain: an undo can restore
// a call whose id another one got in the meantime, because servers restart their counters.
class CallIds {
 public:
  // Converts one id; different ids stay different, equal ids stay equal.
  using Form = std::function<std::string(std::string_view id)>;

  // Borrows the rows. A call has its id as `form` converts it; a later one of the same id gets a number appended. A
  // result has the id of its first call without a result.
  CallIds(std::span<const agentd_message> rows, const Form& form);
  // REQUIRES: a call or a result of the rows, which still exist.
  std::string_view of(const agentd_block& block) const;

 private:
  bool all_fit(std::span<const agentd_message> rows, const Form& form) const;

  std::unordered_map<const agentd_block*, std::string> ids_;  // empty when each has its row's id
};

// "data:image/png;base64,...".
std::string data_url(const agentd_block& media);
// A document's name where one is required.
std::string_view title_of(const agentd_block& document);

std::span<const agentd_block> block_span(const agentd_message& row);
std::span<const agentd_block> part_span(const agentd_block& block);

}  // namespace agentd
