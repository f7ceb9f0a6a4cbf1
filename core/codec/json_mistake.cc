// SPDX-License-Identifier: Apache-2.0
#include "core/codec/json_mistake.h"

namespace agentd {

std::string_view json_mistake_text(rapidjson::ParseErrorCode code) {
  switch (code) {
    case rapidjson::kParseErrorDocumentEmpty:
      return "there is no value";
    case rapidjson::kParseErrorDocumentRootNotSingular:
      return "there is more after the value";
    case rapidjson::kParseErrorValueInvalid:
      return "this is not a value";
    case rapidjson::kParseErrorObjectMissName:
      return "the name of a member, in double quotes, is missing";
    case rapidjson::kParseErrorObjectMissColon:
      return "the colon after a member's name is missing";
    case rapidjson::kParseErrorObjectMissCommaOrCurlyBracket:
      return "a comma or '}' is missing after a member";
    case rapidjson::kParseErrorArrayMissCommaOrSquareBracket:
      return "a comma or ']' is missing after an element";
    case rapidjson::kParseErrorStringUnicodeEscapeInvalidHex:
      return "\\u in a string must be followed by four hexadecimal digits";
    case rapidjson::kParseErrorStringUnicodeSurrogateInvalid:
      return "a \\u escape in a string is half of a surrogate pair";
    case rapidjson::kParseErrorStringEscapeInvalid:
      return "a string has an unknown escape";
    case rapidjson::kParseErrorStringMissQuotationMark:
      return "a string has no closing quote";
    case rapidjson::kParseErrorStringInvalidEncoding:
      return "a string is not valid UTF-8";
    case rapidjson::kParseErrorNumberTooBig:
      return "a number is too large";
    case rapidjson::kParseErrorNumberMissFraction:
      return "a number has no digit after its point";
    case rapidjson::kParseErrorNumberMissExponent:
      return "a number has no digit in its exponent";
    case rapidjson::kParseErrorNone:
    case rapidjson::kParseErrorTermination:
    case rapidjson::kParseErrorUnspecificSyntaxError:
      break;
  }
  return "this is not JSON";
}

}  // namespace agentd
