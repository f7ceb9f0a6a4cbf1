// SPDX-License-Identifier: Apache-2.0
// What edit_file says of a text that is not there or not alone, and what it keeps of a file.
#include "core/base/base64.h"
#include "tests/unit/plugins/tools_fixture.h"

namespace agentd::testing {
namespace {

class Edits : public Tools {
 protected:
  // The sentence about a text that cannot be replaced; the file stays as it was.
  std::string refused(std::string_view content, std::string_view from, std::string_view to = "y") {
    folder_.put("a.txt", content);
    good("read_file", R"({"path":"a.txt"})");
    const std::string said = bad("edit_file", edit("a.txt", from, to));
    EXPECT_EQ(folder_.get("a.txt"), content);
    return said;
  }
  // The file after the edit.
  std::string edited(std::string_view content, std::string_view from, std::string_view to, bool all = false) {
    folder_.put("a.txt", content);
    good("read_file", R"({"path":"a.txt"})");
    good("edit_file", edit("a.txt", from, to, all));
    return folder_.get("a.txt");
  }
  static std::string list(const std::string& edits) { return R"({"path":"a.txt","edits":[)" + edits + "]}"; }
  static std::string one(std::string_view from, std::string_view to) {
    return R"({"old_string":)" + quoted(from) + R"(,"new_string":)" + quoted(to) + "}";
  }
};

TEST_F(Edits, NameTheLinesOfATextThatIsThereSeveralTimes) {
  EXPECT_EQ(refused("x\ny\nx\n\nx\n", "x"),
            "old_string is 3 times in a.txt, in lines 1, 3 and 5: include lines around it until it is unique, or set "
            "replace_all");
  std::string many;
  for (int i = 0; i < 30; ++i) many += "x\n";
  EXPECT_NE(refused(many, "x").find("is 30 times in a.txt, in lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ...:"),
            std::string::npos);
  EXPECT_NE(refused("aaa\n", "aa").find("is 2 times"), std::string::npos) << "either place may be meant";
  EXPECT_EQ(edited("aaa\n", "aa", "b", true), "ba\n");
}

TEST_F(Edits, ShowTheLinesThatDifferInWhiteSpaceOnly) {
  EXPECT_EQ(refused("int f() {\n\tif (a)\n\t\treturn 1;\n}\n", "  if (a)\n    return 1;"),
            "old_string is not in a.txt: lines 2 to 3 differ from it in the white space at the ends of lines, such as "
            "the indentation: copy the indentation exactly:\n     2\t\tif (a)\n     3\t\t\treturn 1;");
  EXPECT_NE(refused("a  =  1\n", "a = 1").find("line 1 differs from it in white space within lines"),
            std::string::npos);
}

TEST_F(Edits, ShowTheLinesThatDifferInMarksOrInTheFormOfAccents) {
  EXPECT_NE(refused("say \xE2\x80\x9Chi\xE2\x80\x9D \xE2\x80\x93 now\n", "say \"hi\" - now")
                .find("line 1 differs from it in quotation marks, dashes or special spaces"),
            std::string::npos);
  EXPECT_NE(refused("a\xC2\xA0= 1\n", "a = 1").find("special spaces"), std::string::npos);
  EXPECT_NE(refused("caf\xC3\xA9\n", "cafe\xCC\x81").find("their Unicode form (NFC or NFD)"), std::string::npos);
  EXPECT_NE(refused("cafe\xCC\x81\n", "caf\xC3\xA9").find("their Unicode form (NFC or NFD)"), std::string::npos);
}

TEST_F(Edits, ShowTheMostSimilarText) {
  const std::string said = refused("// begin\nint compute_total(int a, int b) {\n  return a + b;\n}\n",
                                   "int compute_totals(int a, int c) {\n");
  EXPECT_NE(said.find("The most similar text:\n     2\tint compute_total(int a, int b) {"), std::string::npos) << said;
  EXPECT_EQ(refused("// begin\nint compute_total(int a, int b) {\n", "WHERE id = 7"),
            "old_string is not in a.txt: copy it exactly as read_file shows it, without the line numbers");
}

TEST_F(Edits, KnowTextThatWasCopiedWithItsLineNumbers) {
  EXPECT_NE(refused("one\ntwo\n", "     1\tone\n     2\ttwo").find("without the line numbers of read_file"),
            std::string::npos);
}

TEST_F(Edits, SayThatTheFileMayHaveBeenChangedAlready) {
  EXPECT_NE(refused("first\nconst int kLimit = 7;\n", "zzzz", "const int kLimit = 7;").find("already, in line 2"),
            std::string::npos);
}

// A short text is in most files, and says nothing about an edit that was made before.
TEST_F(Edits, DoNotTakeAShortNewTextForAChangeThatWasMade) {
  const std::string_view content = "int compute_total(int a, int b) {\n  return a + b;\n}\n";
  for (const char* to : {"}", ";", "return", "\n}\n"}) {
    const std::string said = refused(content, "int compute_totals(int a, int c) {\n", to);
    EXPECT_EQ(said.find("already"), std::string::npos) << said;
    EXPECT_NE(said.find("The most similar text:\n     1\tint compute_total(int a, int b) {"), std::string::npos)
        << said;
  }
  const std::string both =
      refused(content, "int compute_totals(int a, int c) {\n", "int compute_total(int a, int b) {\n");
  EXPECT_NE(both.find("already, in line 1. The most similar text:\n     1\tint compute_total"), std::string::npos)
      << both;
}

TEST_F(Edits, SayThatLineEndsDiffer) {
  const std::string said = refused("one\r\ntwo\nthree\r\nfour\n", "one\ntwo\nthree\nfour");
  EXPECT_EQ(said,
            "old_string is not in a.txt: lines 1 to 4 differ from it in line ends (LF and CRLF): change each of the "
            "lines by an edit of its own:\n     1\tone\n     2\ttwo\n     3\tthree\n     4\tfour");
  EXPECT_EQ(refused("one\r\n  two\nthree\n", "one\ntwo\nthree").find("line ends"), std::string::npos);
}

TEST_F(Edits, ShowNoByteOrderMark) {
  folder_.put("bom.txt", "\xEF\xBB\xBFone\ntwo\n");
  good("read_file", R"({"path":"bom.txt"})");
  EXPECT_EQ(good("edit_file", edit("bom.txt", "two", "2")), "replaced 1 place in bom.txt\n     1\tone\n     2\t2\n");
  EXPECT_EQ(bad("edit_file", edit("bom.txt", "  one", "1")).find("\xEF\xBB\xBF"), std::string::npos);
}

TEST_F(Edits, DoNotAdviseToCopyWhatStandsForOtherBytes) {
  const std::string said = refused("caf\xE9 number one\n", "caf\xEF\xBF\xBD number one");
  EXPECT_NE(said.find("choose ASCII text of it"), std::string::npos) << said;
  EXPECT_EQ(said.find("copy it exactly"), std::string::npos) << said;
}

TEST_F(Edits, KeepTheLineEndsOfTheirPlace) {
  EXPECT_EQ(edited("one\r\ntwo\r\n", "two", "2\n3"), "one\r\n2\r\n3\r\n");
  EXPECT_EQ(edited("one\ntwo\n", "two", "2\n3"), "one\n2\n3\n");
  EXPECT_EQ(edited("one\r\ntwo\nthree\n", "two", "2\n3"), "one\r\n2\n3\nthree\n") << "a file with both";
  EXPECT_EQ(edited("one\r\ntwo", "two", "2\n3"), "one\r\n2\r\n3") << "a last line without an end";
  EXPECT_EQ(edited("one\ntwo\n", "two", "2\r\n3"), "one\n2\r\n3\n") << "an end that was written out is kept";
  EXPECT_EQ(edited("x\r\nx\n", "x", "1\n2", true), "1\r\n2\r\n1\n2\n");
}

TEST_F(Edits, KeepAByteOrderMarkAndAMissingLastLineEnd) {
  EXPECT_EQ(edited("\xEF\xBB\xBFone\ntwo", "one", "1"),
            "\xEF\xBB\xBF"
            "1\ntwo");
  EXPECT_EQ(edited("one\ntwo", "two\n", "2\n"), "one\n2");
  EXPECT_EQ(edited("one\ntwo", "one\n", ""), "two");
  folder_.put("bom.txt", "\xEF\xBB\xBFone\n");
  EXPECT_EQ(good("read_file", R"({"path":"bom.txt"})"), "     1\tone\n");
}

TEST_F(Edits, KeepBytesThatAreNoUtf8) {
  EXPECT_EQ(edited("caf\xE9 one\n", "one", "two"), "caf\xE9 two\n");
  EXPECT_NE(refused("caf\xE9 one\n", "one", "\xC3\xA9").find("is not UTF-8"), std::string::npos);
  folder_.put("latin.txt", "caf\xE9\n");
  EXPECT_NE(good("read_file", R"({"path":"latin.txt"})").find("[the file is not valid UTF-8"), std::string::npos);
}

TEST_F(Edits, RefuseUtf16AndSayHowToConvertIt) {
  folder_.put("wide.txt", std::string("\xFF\xFEo\0n\0e\0", 8));
  folder_.put("big.txt", std::string("\xFE\xFF\0o\0n\0e", 8));
  EXPECT_NE(bad("read_file", R"({"path":"wide.txt"})").find("is UTF-16LE text"), std::string::npos);
  EXPECT_NE(bad("read_file", R"({"path":"big.txt"})").find("iconv -f UTF-16BE -t UTF-8"), std::string::npos);
  EXPECT_NE(bad("edit_file", edit("wide.txt", "o", "y")).find("is UTF-16LE text"), std::string::npos);
}

TEST_F(Edits, AreMadeAllOrNone) {
  folder_.put("a.txt", "one\ntwo\nthree\n");
  good("read_file", R"({"path":"a.txt"})");
  const std::string shown = good("edit_file", list(one("one", "1") + "," + one("1\ntwo", "1\n2")));
  EXPECT_TRUE(shown.starts_with("replaced 2 places in a.txt\n")) << shown;
  EXPECT_EQ(folder_.get("a.txt"), "1\n2\nthree\n") << "the second edit works on what the first has made";
  const std::string said = bad("edit_file", list(one("three", "3") + "," + one("absent", "x")));
  EXPECT_TRUE(said.starts_with("nothing was changed, since edit 2 of 2 does not fit: old_string is not in a.txt"))
      << said;
  EXPECT_EQ(folder_.get("a.txt"), "1\n2\nthree\n");
}

TEST_F(Edits, AreCheckedOneByOne) {
  folder_.put("a.txt", "one\n");
  good("read_file", R"({"path":"a.txt"})");
  const std::pair<std::string, const char*> cases[] = {
      {R"({"path":"a.txt"})", "\"old_string\" is missing"},
      {R"({"path":"a.txt","old_string":"one"})", "\"new_string\" is missing"},
      {list(""), "\"edits\" must be a list that is not empty"},
      {list("7"), "edit 1: the input must be a JSON object"},
      {list(R"({"old_string":"one"})"), "edit 1: the key \"new_string\" is missing"},
      {list(one("one", "1") + R"(,{"old_string":"","new_string":"x"})"), "edit 2: \"old_string\" must be a non-empty"},
      {list(R"({"old_string":"one","new_string":"x","all":true})"), "unknown key \"all\""},
      {list(one("one", "one")), "nothing to change"},
      {list(one("one", "1") + "," + one("1", "one")), "there is nothing to change"},
      {R"({"path":"a.txt","old_string":"one","new_string":"1","edits":[)" + one("one", "1") + "]}", "not both"}};
  for (const auto& [input, sentence] : cases) {
    const std::string said = bad("edit_file", input);
    EXPECT_NE(said.find(sentence), std::string::npos) << input << ": " << said;
  }
  EXPECT_EQ(folder_.get("a.txt"), "one\n");
}

// ---- what others have changed in the meantime

TEST_F(Edits, WriteFileDoesNotReplaceWhatHasChangedSinceItWasRead) {
  folder_.put("a.txt", "one");
  good("read_file", R"({"path":"a.txt"})");
  folder_.put("a.txt", "of another");
  EXPECT_EQ(bad("write_file", R"({"path":"a.txt","content":"mine"})"),
            "a.txt has changed since it was read: read it again; nothing was written");
  EXPECT_EQ(folder_.get("a.txt"), "of another");
  good("read_file", R"({"path":"a.txt"})");
  good("write_file", R"({"path":"a.txt","content":"mine"})");
  good("write_file", R"({"path":"a.txt","content":"mine again"})");
  std::filesystem::remove(folder_.path + "/a.txt");
  good("write_file", R"({"path":"a.txt","content":"anew"})");
  EXPECT_EQ(folder_.get("a.txt"), "anew");
}

// ---- pictures and documents

using namespace std::string_literals;

class MediaFiles : public Tools {
 protected:
  static const recorded_block& block_of(const outcome& got) {
    static const recorded_block none;
    const auto* const end = got.find(AGENTD_ACT_TOOL_RESULT);
    return end == nullptr || end->blocks.size() != 1 ? none : end->blocks.front();
  }
  // A picture of one pixel as far as its data; no checksum is right.
  static std::string png() {
    return "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x8\6\0\0\0crc4\0\0\0\4IDATdatacrc4"s;
  }
};

TEST_F(MediaFiles, ThatAreNoWholePictureAreNotShown) {
  std::string flat = png(), other = png();
  flat[19] = '\0';  // the width
  other[12] = 'J';  // the name of the first chunk
  for (const std::string& bytes : {png().substr(0, 20), png().substr(0, 33), png().substr(0, 43), flat, other}) {
    folder_.put("a.png", bytes);
    const std::string said = bad("read_file", R"({"path":"a.png"})");
    EXPECT_NE(said.find("a.png begins as a picture (image/png), but its header or data is missing"), std::string::npos)
        << said;
  }
  folder_.put("a.png", png());
  good("read_file", R"({"path":"a.png"})");
}

TEST_F(MediaFiles, ArePartsOfTheResult) {
  const std::tuple<const char*, std::string, const char*> cases[] = {
      {"a.png", png(), "image/png"},
      {"misnamed.txt", png(), "image/png"},
      {"a.jpg", "\xFF\xD8\xFF\xE0rest", "image/jpeg"},
      {"a.gif", "GIF89arest", "image/gif"},
      {"a.webp", std::string("RIFF\1\2\3\4WEBPVP8 ", 16), "image/webp"},
      {"a.pdf", "%PDF-1.7\nrest", "application/pdf"}};
  for (const auto& [name, bytes, type] : cases) {
    folder_.put(name, bytes);
    const outcome got = host_.invoke("read_file", R"({"path":")" + std::string(name) + R"("})");
    ASSERT_FALSE(got.tool_failed()) << name << got.output();
    const recorded_block& block = block_of(got);
    EXPECT_EQ(block.name, type) << name;
    EXPECT_EQ(block.opaque, base64(bytes)) << name;
    EXPECT_EQ(block.kind, std::string_view(type) == "application/pdf" ? AGENTD_BLOCK_DOCUMENT : AGENTD_BLOCK_IMAGE);
    EXPECT_NE(got.output().find(type), std::string::npos) << got.output();
  }
  EXPECT_EQ(block_of(host_.invoke("read_file", R"({"path":"a.pdf"})")).text, "a.pdf");
}

TEST_F(MediaFiles, ThatAreTooLargeAreRefused) {
  folder_.put("a.png", "\x89PNG\r\n\x1a\n");
  std::filesystem::resize_file(folder_.path + "/a.png", (5u << 20) / 4 * 3 + 1);
  EXPECT_NE(bad("read_file", R"({"path":"a.png"})").find("at most 3,932,160 bytes"), std::string::npos);
  folder_.put("a.pdf", "%PDF-");
  std::filesystem::resize_file(folder_.path + "/a.pdf", (10u << 20) + 1);
  EXPECT_NE(bad("read_file", R"({"path":"a.pdf"})").find("pdftotext"), std::string::npos);
}

TEST_F(MediaFiles, OfOtherKindsAreNamed) {
  folder_.put("a.zip", "PK\x03\x04rest");
  EXPECT_EQ(bad("read_file", R"({"path":"a.zip"})"),
            "a.zip is a zip archive of 8 bytes: inspect it with bash (file, strings, xxd)");
  bad("edit_file", edit("a.zip", "rest", "x"));
  folder_.put("late", std::string(600, 'x') + '\0');
  EXPECT_NE(bad("read_file", R"({"path":"late"})").find("is a binary file of 601 bytes"), std::string::npos);
}

}  // namespace
}  // namespace agentd::testing
