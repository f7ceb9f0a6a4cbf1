// SPDX-License-Identifier: Apache-2.0
#include "core/dialects/expression.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace agentd {
namespace {

constexpr std::string_view kPayload = R"({
  "event": "before_tool_call", "message": "please deploy now", "empty": "", "zero": 0,
  "nothing": null,
  "stop_hook_active": false, "yes": true,
  "usage": {"current_context_window": 150000, "max_context_window": 200000, "input_tokens": 7},
  "context": {"percent": 81.5},
  "tool": {"name": "bash", "input": {"command": "rm  -rf /", "file-path": "a.txt", "in": 3}},
  "list": [1, "two", null, true, [5], {"k": 6}], "hole": [], "object": {}
})";

JsonView payload() {
  static const Result<JsonDocument> document = JsonDocument::parse(kPayload);
  return document->root();
}

Result<bool> evaluate(std::string_view text) {
  const auto expression = Expression::parse(text, "f.yaml", 1, 1);
  if (!expression) return expression.error();
  return expression->holds(payload());
}

std::string outcome(std::string_view text) {
  const Result<bool> holds = evaluate(text);
  if (!holds) return holds.error().message;
  return *holds ? "true" : "false";
}

std::string expression_mistake(std::string_view text) {
  const auto expression = Expression::parse(text, "f.yaml", 3, 7);
  return expression ? "parsed" : expression.error().message;
}

// ---- values

TEST(Expression, IsTrueWhenItIsEmpty) {
  EXPECT_TRUE(Expression().empty());
  EXPECT_TRUE(*Expression().holds(payload()));
  EXPECT_TRUE(*Expression().holds({}));
}

TEST(Expression, HoldsForWhatTheContractsShow) {
  EXPECT_EQ(outcome("usage.current_context_window / usage.max_context_window > 0.7"), "true");
  EXPECT_EQ(outcome("usage.current_context_window / usage.max_context_window > 0.7 and not stop_hook_active"), "true");
  EXPECT_EQ(outcome(R"(tool.name == "bash" and tool.input.command matches "rm\s+-rf")"), "true");
  EXPECT_EQ(outcome(R"("deploy" in message or context.percent >= 80)"), "true");
  EXPECT_EQ(outcome(R"("destroy" in message or context.percent >= 82)"), "false");
}

TEST(Expression, TakesNullZeroEmptyTextAndFalseForFalse) {
  for (const char* const text : {"null", "0", "-0", "''", "\"\"", "false", "nothing", "zero", "empty",
                                 "stop_hook_active", "no.there", "list[2]", "list[99]"})
    EXPECT_EQ(outcome(text), "false") << text;
  for (const char* const text : {"true", "1", "-1", "0.001", "'0'", "yes", "message", "list", "object", "hole"})
    EXPECT_EQ(outcome(text), "true") << text;
}

TEST(Expression, FollowsPathsByNameIndexAndQuotedKey) {
  EXPECT_EQ(outcome("list[0] == 1 and list[1] == 'two' and list[4][0] == 5 and list[5].k == 6"), "true");
  EXPECT_EQ(outcome("tool.input[\"file-path\"] == 'a.txt'"), "true");
  EXPECT_EQ(outcome("tool['input'].in == 3"), "true") << "a word of the language is a name behind a dot";
}

TEST(Expression, TakesAPathThatLeadsNowhereForNull) {
  for (const char* const path :
       {"a.b.c.d", "message.length", "message[0]", "object[0]", "list.k", "list[6]", "zero[0].x"})
    EXPECT_EQ(outcome(std::string(path) + " == null"), "true") << path;
  const auto expression = Expression::parse("a.b == null and not c", "f", 1, 1);
  EXPECT_TRUE(*expression->holds({})) << "no payload at all";
}

TEST(Expression, ReadsEscapesInTexts) {
  EXPECT_EQ(outcome(R"("a\"b" == 'a"b' and 'it\'s' == "it's" and "\\" contains '\\' and "\/" == "/")"), "true");
  EXPECT_EQ(outcome("\"a\\tb\\nc\\rd\" == 'a\tb\nc\rd'"), "true");
}

TEST(Expression, LeavesTheBackslashesOfRegularExpressionsAlone) {
  EXPECT_EQ(outcome(R"("a.b" matches "^a\.b$" and not ("axb" matches "^a\.b$"))"), "true");
  EXPECT_EQ(outcome(R"('a\\b' matches "a\\b")"), "true");
}

// ---- operators

TEST(Expression, BindsByRisingStrength) {
  EXPECT_EQ(outcome("true or false and false"), "true");
  EXPECT_EQ(outcome("(true or false) and false"), "false");
  EXPECT_EQ(outcome("not zero == 1"), "true") << "not (zero == 1)";
  EXPECT_EQ(outcome("!true or true"), "true");
  EXPECT_EQ(outcome("1 + 2 * 3 == 7 and (1 + 2) * 3 == 9"), "true");
  EXPECT_EQ(outcome("10 - 3 - 2 == 5 and 100 / 10 / 5 == 2 and 7 - 2 + 1 == 6"), "true");
  EXPECT_EQ(outcome("-2 * -3 == 6 and 1 - -1 == 2 and - -4 == 4 and 17 % 5 * 2 == 4"), "true");
  EXPECT_EQ(outcome("1 + 1 > 1 and 2 < 1 + 2"), "true");
}

TEST(Expression, KnowsBothSpellingsOfTheLogicalOperators) {
  EXPECT_EQ(outcome("true && !false || false"), "true");
  EXPECT_EQ(outcome("yes and not nothing or zero"), "true");
  EXPECT_EQ(outcome("not not 5 == 5 and !!yes"), "true");
}

TEST(Expression, ComparesNumbersAndTextsAmongThemselves) {
  EXPECT_EQ(outcome("1 < 2 and 2 <= 2 and 3 > 2 and 3 >= 3 and 1 != 2 and 1 == 1.0"), "true");
  EXPECT_EQ(outcome("'a' < 'b' and 'b' >= 'a' and 'a' != 'b' and 'abc' < 'abd'"), "true");
  EXPECT_EQ(outcome("1 == '1' or true == 1 or null == 0 or null == false or '' == null"), "false");
  EXPECT_EQ(outcome("null == null and nothing == missing and list != null and list != 'list'"), "true");
}

TEST(Expression, TakesAnOrderWithNullForFalse) {
  for (const char* const text : {"missing < 1", "missing > 1", "1 <= missing", "null >= null", "'a' < nothing"})
    EXPECT_EQ(outcome(text), "false") << text;
}

TEST(Expression, MakesArithmeticWithNullOrByZeroNull) {
  for (const char* const text :
       {"1 + missing", "missing * 2", "-missing", "1 / 0", "1 % 0", "0 / 0", "1 / zero", "1e308 * 10", "1 / 0 + 5"})
    EXPECT_EQ(outcome("(" + std::string(text) + ") == null"), "true") << text;
}

TEST(Expression, LooksIntoTextsListsAndObjects) {
  EXPECT_EQ(outcome("message contains 'deploy' and 'now' in message and '' in message"), "true");
  EXPECT_EQ(outcome("list contains 1 and 'two' in list and null in list and true in list"), "true");
  EXPECT_EQ(outcome("5 in list or 'tw' in list or 'x' in hole"), "false");
  EXPECT_EQ(outcome("'command' in tool.input and not (tool.input contains 'x')"), "true");
  EXPECT_EQ(outcome("'x' in missing or missing contains 'x' or missing in message"), "false");
}

TEST(Expression, FindsARegularExpressionAnywhere) {
  EXPECT_EQ(outcome("message matches 'dep.oy'"), "true");
  EXPECT_EQ(outcome("message matches '^deploy'"), "false");
  EXPECT_EQ(outcome("message matches '(?i)PLEASE'"), "true");
  EXPECT_EQ(outcome("missing matches '.*'"), "false");
}

TEST(Expression, DoesNotLookAtWhatNoLongerDecides) {
  EXPECT_EQ(outcome("false and message > 1"), "false");
  EXPECT_EQ(outcome("true or message > 1"), "true");
}

TEST(Expression, SaysWhatAnOperatorCannotTake) {
  EXPECT_EQ(outcome("yes and tool.name < 5"), "'tool.name < 5': '<' cannot compare a text with a number");
  EXPECT_EQ(outcome("1 + message"), "'1 + message': '+' needs numbers, not a text");
  EXPECT_EQ(outcome("-'x'"), "'-'x'': '-' needs a number, not a text");
  EXPECT_EQ(outcome("context matches 'x'"), "'context matches 'x'': 'matches' needs a text, not an object");
  EXPECT_EQ(outcome("list == hole"), "'list == hole': '==' cannot compare a list with a list");
  EXPECT_EQ(outcome("5 in message"), "'5 in message': 'in' cannot look for a number in a text");
  EXPECT_EQ(outcome("zero contains 1"), "'zero contains 1': 'contains' cannot look for a number in a number");
  EXPECT_EQ(evaluate("yes > 0").error().code, Code::kInvalid);
}

// ---- mistakes

TEST(Expression, NamesThePlaceOfAMistake) {
  EXPECT_EQ(expression_mistake("a > "), "f.yaml:3:11: a value is missing at the end");
  EXPECT_EQ(expression_mistake("a ? b"), "f.yaml:3:9: expected an operator or the end, not '?'");
  EXPECT_EQ(expression_mistake("a and\n  b and ?"), "f.yaml:4:9: expected a value, not '?'");
  EXPECT_EQ(expression_mistake("a = 1"), "f.yaml:3:9: '=' compares nothing: write '=='");
  EXPECT_EQ(expression_mistake("a AND b"),
            "f.yaml:3:9: expected an operator or the end, not 'AND': did you mean 'and'?");
  EXPECT_EQ(expression_mistake("a & b"), "f.yaml:3:9: expected an operator or the end, not '&': write 'and' or '&&'");
  EXPECT_EQ(expression_mistake("a | b"), "f.yaml:3:9: expected an operator or the end, not '|': write 'or' or '||'");
  EXPECT_EQ(expression_mistake("(a"), "f.yaml:3:9: an operator or ')' is missing at the end");
  EXPECT_EQ(expression_mistake("a)"), "f.yaml:3:8: expected an operator or the end, not ')'");
  EXPECT_EQ(expression_mistake("'a"), "f.yaml:3:7: the text has no closing quote");
  EXPECT_EQ(expression_mistake("a == 'b\\'"), "f.yaml:3:12: the text has no closing quote");
  EXPECT_EQ(expression_mistake("'a\\sb'"), "f.yaml:3:9: the text has an unknown escape: write '\\\\' for a backslash");
  EXPECT_EQ(expression_mistake("1 < a < 3"), "f.yaml:3:13: comparisons do not chain: join them with 'and'");
  EXPECT_EQ(expression_mistake("5s > 1"), "f.yaml:3:7: '5s' is not a number");
  EXPECT_EQ(expression_mistake("1e999"), "f.yaml:3:7: '1e999' is not a number");
  EXPECT_EQ(expression_mistake("percent > 70%"), "f.yaml:3:20: a value is missing at the end");
  EXPECT_EQ(expression_mistake("a.5"), "f.yaml:3:9: a name must follow '.'; elements of a list are written [0]");
  EXPECT_EQ(expression_mistake("a[-1]"), "f.yaml:3:9: brackets take a whole number, or a key in quotes");
  EXPECT_EQ(expression_mistake("a[1.5]"), "f.yaml:3:9: brackets take a whole number, or a key in quotes");
  EXPECT_EQ(expression_mistake("a[0"), "f.yaml:3:10: ']' is missing at the end");
  EXPECT_EQ(expression_mistake("and"), "f.yaml:3:7: expected a value, not 'and'");
  EXPECT_EQ(
      expression_mistake("a not in b"),
      "f.yaml:3:9: expected an operator or the end, not 'not': put 'not' before the comparison, as in 'not (a in b)'");
  EXPECT_EQ(expression_mistake("a in ['b', 'c']"),
            "f.yaml:3:12: lists are not supported here: join comparisons with "
            "'or', or use 'matches'");
  EXPECT_EQ(expression_mistake("a > \xc3\xa9"), "f.yaml:3:11: expected a value, not '\xc3\xa9'");
  EXPECT_EQ(expression_mistake(" \n "), "f.yaml:4:2: the expression is empty");
}

TEST(Expression, CompilesRegularExpressionsWhenItIsRead) {
  EXPECT_EQ(expression_mistake("a matches b"), "f.yaml:3:17: 'matches' needs a text in quotes on its right");
  EXPECT_NE(expression_mistake("a matches '('").find("f.yaml:3:17: not a valid regular expression: "),
            std::string::npos);
  EXPECT_NE(expression_mistake("a matches '(?=x)'").find("not a valid regular expression"), std::string::npos)
      << "RE2 has none";
}

TEST(Expression, BoundsTheMemoryOfARegularExpression) {
  const std::string greedy = "a matches '((((\\pL{1000}){1,1000}){1,1000}){1,1000})'";
  EXPECT_NE(expression_mistake(greedy).find("not a valid regular expression"), std::string::npos);
  EXPECT_NE(
      expression_mistake("a matches '(\\pL{500}){2}\\pN{900}\\pS{900}\\pL{900}(\\pL{900})\\pL{900}'").find("too large"),
      std::string::npos);
}

TEST(Expression, BoundsItsSizeAndItsLevels) {
  const auto nested = [](std::size_t levels) { return std::string(levels, '(') + "1" + std::string(levels, ')'); };
  EXPECT_EQ(outcome(nested(64)), "true");
  EXPECT_EQ(expression_mistake(nested(65)), "f.yaml:3:71: more than 64 levels of parentheses");
  EXPECT_EQ(outcome("1" + std::string(4095, ' ')), "true");
  EXPECT_EQ(expression_mistake("1" + std::string(4096, ' ')), "f.yaml:3:7: the expression has more than 4,096 bytes");
}

TEST(Expression, TakesLongChainsWithoutDepth) {
  std::string sum = "0", either = "false", negation, minus;
  while (sum.size() < 4000) sum += "+1";
  while (either.size() < 4000) either += "||0";
  EXPECT_EQ(outcome(sum), "true");
  EXPECT_EQ(outcome(either), "false");
  EXPECT_EQ(outcome(std::string(4000, '!') + "1"), "true");
  EXPECT_EQ(outcome(std::string(4001, '!').substr(0, 4001 - 2) + "1"), "false");
  EXPECT_EQ(outcome(std::string(4001, '-').substr(0, 3999) + "1 == -1"), "true");
}

TEST(Expression, IsSharedByItsCopies) {
  Expression copy;
  {
    const auto original = Expression::parse("list[1] matches 'tw'", "f", 1, 1);
    copy = *original;
  }
  EXPECT_TRUE(*copy.holds(payload()));
  EXPECT_EQ(copy.text(), "list[1] matches 'tw'");
}

// ---- properties

TEST(Expression, SurvivesRandomBytes) {
  std::mt19937 random(20240611);
  const std::vector<std::string> tokens{"a", ".", "b",    "[",     "0",    "]",  "'",    "\"",   "\\",        "(",
                                        ")", "!", "not ", " and ", " or ", "==", "<",    "in ",  " matches ", "'x'",
                                        "-", "+", "%",    "1e9",   " ",    "\n", "null", "\xff", "\x01",      "list"};
  for (int i = 0; i < 60'000; ++i) {
    std::string text;
    const std::size_t length = random() % 24;
    for (std::size_t j = 0; j < length; ++j)
      text += i % 2 == 0 ? std::string(1, static_cast<char>(random())) : tokens[random() % tokens.size()];
    const auto expression = Expression::parse(text, "f", 1, 1);
    if (expression)
      (void)expression->holds(payload());
    else
      ASSERT_EQ(expression.error().message.substr(0, 2), "f:") << "round " << i;
  }
}

// A tree, its meaning by a second and slower reading of expression.h, and its text.
struct Tree {
  std::string op;  // "" = a leaf
  std::string leaf;
  std::vector<Tree> parts;
};

struct Meaning {
  char type = '0';  // 0 null, b boolean, n number, t text, c container, ! failed
  double number = 0;
  std::string text;
};

struct Leaf {
  const char* text;
  Meaning meaning;
};
const std::vector<Leaf> kLeaves{{"1", {'n', 1, ""}},
                                {"0", {'n', 0, ""}},
                                {"2.5", {'n', 2.5, ""}},
                                {"usage.input_tokens", {'n', 7, ""}},
                                {"'bash'", {'t', 0, "bash"}},
                                {"tool.name", {'t', 0, "bash"}},
                                {"\"\"", {'t', 0, ""}},
                                {"true", {'b', 1, ""}},
                                {"stop_hook_active", {'b', 0, ""}},
                                {"null", {'0', 0, ""}},
                                {"no.such[3]", {'0', 0, ""}},
                                {"object", {'c', 0, ""}}};

// By rising strength; equal numbers are one level.
int strength(const std::string& op) {
  if (op == "or") return 1;
  if (op == "and") return 2;
  if (op == "not") return 3;
  if (op == "+" || op == "-") return 5;
  if (op == "*" || op == "/" || op == "%") return 6;
  if (op == "neg") return 7;
  return op.empty() ? 8 : 4;
}

Tree random_tree(std::mt19937& random, int depth) {
  static const std::vector<std::string> operators{"or", "and", "not", "==", "!=", "<", "<=", ">",
                                                  ">=", "+",   "-",   "*",  "/",  "%", "neg"};
  Tree tree;
  if (depth == 0 || random() % 5 == 0) {
    tree.leaf = kLeaves[random() % kLeaves.size()].text;
    return tree;
  }
  tree.op = operators[random() % operators.size()];
  const int parts = tree.op == "not" || tree.op == "neg" ? 1 : 2;
  for (int i = 0; i < parts; ++i) tree.parts.push_back(random_tree(random, depth - 1));
  return tree;
}

// With the parentheses that the strengths ask for, and some that nobody needs.
std::string print(const Tree& tree, std::mt19937& random) {
  if (tree.op.empty()) return tree.leaf;
  const auto part = [&](std::size_t i) {
    const Tree& child = tree.parts[i];
    const int own = strength(tree.op), inner = strength(child.op);
    // To the right of its equal an operator would be read the other way round; comparisons do not
    // chain.
    const bool needs = inner < own || (inner == own && (own == 4 || (i == 1 && own > 2)));
    const std::string text = print(child, random);
    return needs || random() % 8 == 0 ? "(" + text + ")" : text;
  };
  if (tree.op == "not") return (random() % 2 == 0 ? "not " : "!") + part(0);
  if (tree.op == "neg") return "-" + part(0);
  std::string op = tree.op;
  if (op == "or" && random() % 2 == 0) op = "||";
  if (op == "and" && random() % 2 == 0) op = "&&";
  return part(0) + " " + op + (random() % 9 == 0 ? "\n" : " ") + part(1);
}

bool truth(const Meaning& meaning) {
  return meaning.type == 'c' || (meaning.type == 't' && !meaning.text.empty()) ||
         ((meaning.type == 'n' || meaning.type == 'b') && meaning.number != 0);
}

Meaning boolean(bool value) { return {'b', value ? 1.0 : 0.0, ""}; }

Meaning arithmetic(char op, const Meaning& a, const Meaning& b) {
  for (const Meaning& each : {a, b})
    if (each.type != 'n' && each.type != '0') return {'!', 0, ""};
  if (a.type == '0' || b.type == '0') return {};
  if ((op == '/' || op == '%') && b.number == 0) return {};
  const double value = op == '+'   ? a.number + b.number
                       : op == '-' ? a.number - b.number
                       : op == '*' ? a.number * b.number
                       : op == '/'
                           ? a.number / b.number
                           : a.number - b.number * static_cast<double>(static_cast<long long>(a.number / b.number));
  return {'n', value, ""};
}

Meaning order(const std::string& op, const Meaning& a, const Meaning& b) {
  if (a.type == '0' || b.type == '0') return boolean(false);
  if (a.type != b.type || (a.type != 'n' && a.type != 't')) return {'!', 0, ""};
  const int sign = a.type == 't' ? a.text.compare(b.text) : a.number < b.number ? -1 : a.number > b.number ? 1 : 0;
  if (op == "<") return boolean(sign < 0);
  if (op == "<=") return boolean(sign <= 0);
  return boolean(op == ">" ? sign > 0 : sign >= 0);
}

Meaning meaning_of(const Tree& tree) {
  if (tree.op.empty()) {
    for (const Leaf& leaf : kLeaves)
      if (leaf.text == tree.leaf) return leaf.meaning;
    return {'!', 0, ""};
  }
  const Meaning a = meaning_of(tree.parts[0]);
  if (a.type == '!') return a;
  if (tree.op == "not") return boolean(!truth(a));
  if (tree.op == "neg") return a.type == '0' ? a : a.type == 'n' ? Meaning{'n', -a.number, ""} : Meaning{'!', 0, ""};
  if ((tree.op == "or" && truth(a)) || (tree.op == "and" && !truth(a))) return boolean(truth(a));
  const Meaning b = meaning_of(tree.parts[1]);
  if (b.type == '!') return b;
  if (tree.op == "or" || tree.op == "and") return boolean(truth(b));
  if (tree.op == "==" || tree.op == "!=") {
    if (a.type == 'c' && b.type == 'c') return {'!', 0, ""};
    const bool same = a.type == b.type && a.number == b.number && a.text == b.text;
    return boolean(same == (tree.op == "=="));
  }
  if (tree.op == "<" || tree.op == "<=" || tree.op == ">" || tree.op == ">=") return order(tree.op, a, b);
  return arithmetic(tree.op[0], a, b);
}

TEST(Expression, MeansWhatTheTreeMeansThatItWasPrintedFrom) {
  std::mt19937 random(7);
  int held = 0, refused = 0;
  for (int i = 0; i < 30'000; ++i) {
    const Tree tree = random_tree(random, 1 + static_cast<int>(random() % 4));
    const std::string text = print(tree, random);
    const Meaning meaning = meaning_of(tree);
    const auto expression = Expression::parse(text, "f", 1, 1);
    ASSERT_TRUE(expression) << "round " << i << ": " << text << "\n" << expression.error().message;
    const auto holds = expression->holds(payload());
    ASSERT_EQ(holds.has_value(), meaning.type != '!') << "round " << i << ": " << text;
    ASSERT_EQ(holds.value_or(false), truth(meaning)) << "round " << i << ": " << text;
    held += holds && *holds ? 1 : 0;
    refused += holds ? 0 : 1;
  }
  EXPECT_GT(held, 3'000);
  EXPECT_GT(refused, 1'000);
}

}  // namespace
}  // namespace agentd
