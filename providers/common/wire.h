// SPDX-License-Identifier: Apache-2.0
#pragma once
// wire.h - rows of a view as the messages of a wire format.
//
// Every provider's format knows two speakers in turn, while a view may hold neighbours of one role (a tool
// result and the context a hook added, a summary and the user's next question).
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

// Neighbouring rows that become one message.
struct WireGroup {
  bool assistant = false;
  std::vector<const agentd_message*> rows;
};

// True when the block of that row has something to say on the wire.
using WireFilter = std::function<bool(const agentd_message&, const agentd_block&)>;

// The rows in order, joined by role; rows of which no block passes `sendable` are left out, and so are no
// reason to part their neighbours. SUMMARY counts as user.
std::vector<WireGroup> group_rows(std::span<const agentd_message> rows, const WireFilter& sendable);

// Of that kind, and with something to say on the wire: no blank text, no image or document without its bytes or
// of a media type that no vendor takes (JPEG, PNG, GIF and WebP; PDF).
bool is_text(const agentd_block& block);
bool is_media(const agentd_block& block);  // an image or a document
bool is_call(const agentd_block& block);
bool is_result(const agentd_block& block);
// One of them, in a row of the speaker to whom it belongs: calls are the assistant's, media and results the
// user's. What hooks put into the history may stand elsewhere.
bool is_said(const agentd_message& row, const agentd_block& block);

// The schema of a tool's input as all vendors take it: of the type object, without oneOf, anyOf, allOf, enum and
// not at its top, and with properties where it is so asked for; as it came where it is like that. Schemas come
// from plugins and servers: a bad one must not spoil the whole body. kInvalid, with the tool's name and origin,
// unless the schema is empty or a JSON object.
enum class SchemaForm { kObject, kProperties };
Result<std::string> wire_schema(const ToolSpec& tool, SchemaForm form);

// The name of a tool in a call as all vendors take it: models call tools by names that nobody has offered, and
// what the history holds goes to each of them. As it came when it has 1 to 64 letters, digits, '_' and '-' and
// begins with no digit and no '-'; else the nearest to it.
std::string wire_name(std::string_view name);
// The id of a call as a vendor takes it, `most` (at least 40) bytes of letters, digits, '_' and '-': as it came when
// it is like that, else one made of it, the same in every request.
std::string wire_call_id(std::string_view id, std::size_t most);

// The ids that the calls and results of a request have on the wire. No id names two calls there, whatever the rows
// hold: an undo can bring back a call whose id another one got meanwhile, since servers count anew.
class CallIds {
 public:
  // What becomes of one id; another text for another id, and the same for the same.
  using Form = std::function<std::string(std::string_view id)>;

  // Borrows the rows. A call keeps its id as `form` has it; a later one of the same id has a number behind it.
  // A result has the id of the first call of its own that has none yet.
  CallIds(std::span<const agentd_message> rows, const Form& form);
  // REQUIRES: a call or a result of the rows, which are still there.
  std::string_view of(const agentd_block& block) const;

 private:
  bool all_fit(std::span<const agentd_message> rows, const Form& form) const;

  std::unordered_map<const agentd_block*, std::string> ids_;  // empty when each has the id of its row
};

// "data:image/png;base64,...".
std::string data_url(const agentd_block& media);
// What a document is called where a name is needed.
std::string_view title_of(const agentd_block& document);

std::span<const agentd_block> block_span(const agentd_message& row);
std::span<const agentd_block> part_span(const agentd_block& block);

}  // namespace agentd
