// SPDX-License-Identifier: Apache-2.0
// mcp_fixtures: the tools that the conformance suite of MCP calls, as far as a plugin can have them, and one that does
// more than read.
#include <agentd/hook.hpp>

#include <string_view>

namespace {

constexpr std::string_view kNothing = R"({"type":"object","properties":{}})";
constexpr std::string_view kSchema2020 =
    R"({"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"address":{"$anchor":)"
    R"("addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},"properties":)"
    R"({"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string",)"
    R"("enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},)"
    R"("allOf":[{"anyOf":[{"required":["phone"]},)"
    R"({"required":["email"]}]}],"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},)"
    R"("then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false})";
constexpr std::string_view kWithField =
    R"({"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},)"
    R"("query":{"type":"string"}},"required":["region"]})";
// A red pixel, and the first bytes of a document.
constexpr std::string_view kPicture =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
constexpr std::string_view kDocument = "JVBERi0xLjQK";

agentd_block media(std::uint16_t kind, std::string_view type, std::string_view data) {
  auto out = agentd::sized<agentd_block>();
  out.kind = kind;
  out.name = agentd::as_str(type);
  out.opaque = agentd::as_str(data);
  return out;
}

struct Fixtures {
  static constexpr std::string_view hook_requires[] = {agentd::id::tools};

  explicit Fixtures(agentd::init& init) {
    add<&Fixtures::simple_text>(init, "test_simple_text", "Tells a text");
    add<&Fixtures::image>(init, "test_image_content", "Shows an image");
    add<&Fixtures::document>(init, "test_embedded_resource", "Shows a document");
    add<&Fixtures::mixed>(init, "test_multiple_content_types", "Tells a text and shows more");
    add<&Fixtures::fail>(init, "test_error_handling", "Fails");
    add<&Fixtures::simple_text>(init, "test_tool_with_progress", "Tells a text");
    add<&Fixtures::simple_text>(init, "json_schema_2020_12_tool", "Takes an input of many rules", kSchema2020);
    add<&Fixtures::simple_text>(init, "test_custom_headers", "Takes a field of HTTP", kWithField);
    (void)init.add_tool<&Fixtures::simple_text>(
        {.name = "changes_things", .description = "Does more than read", .input_schema = kNothing});
  }
  template <auto Method>
  static void add(agentd::init& init, std::string_view name, std::string_view about,
                  std::string_view schema = kNothing) {
    (void)init.add_tool<Method>(
        {.name = name, .description = about, .input_schema = schema, .flags = AGENTD_TOOL_READ_ONLY});
  }

  void simple_text(agentd::call& c, agentd::tool_view) {
    (void)c.output("This is a simple text response for testing.");
  }
  agentd_status image(agentd::call& c, agentd::tool_view) {
    const agentd_block block = media(AGENTD_BLOCK_IMAGE, "image/png", kPicture);
    return c.tool_result(false, {}, agentd::block_list(agentd_list{&block, 1, sizeof block}));
  }
  agentd_status document(agentd::call& c, agentd::tool_view) {
    const agentd_block block = media(AGENTD_BLOCK_DOCUMENT, "application/pdf", kDocument);
    return c.tool_result(false, {}, agentd::block_list(agentd_list{&block, 1, sizeof block}));
  }
  agentd_status mixed(agentd::call& c, agentd::tool_view) {
    const agentd_block blocks[] = {media(AGENTD_BLOCK_IMAGE, "image/png", kPicture),
                                   media(AGENTD_BLOCK_DOCUMENT, "application/pdf", kDocument)};
    (void)c.output("Multiple content types test:");
    return c.tool_result(false, {}, agentd::block_list(agentd_list{blocks, 2, sizeof blocks[0]}));
  }
  agentd_status fail(agentd::call& c, agentd::tool_view) {
    return c.tool_error("This tool intentionally returns an error for testing");
  }
};

}  // namespace
AGENTD_HOOK(Fixtures, "test.mcp_fixtures", "0.0.1")
