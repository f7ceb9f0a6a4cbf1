// SPDX-License-Identifier: Apache-2.0
#include "plugins/web_fetch/page.h"

#include <gtest/gtest.h>

namespace web_fetch {
namespace {

std::string text(std::string_view html, std::string_view charset = {}) {
  const auto page = readable(html, charset, "https://h.example/d/page?q");
  EXPECT_TRUE(page) << (page ? "" : page.error().message);
  return page ? page->text : "";
}

TEST(Page, IsMarkdown) {
  EXPECT_EQ(
      text("<h1>Head <em>ing</em></h1><p>One   two\n three <a href=\"/x?a=1#f\">link</a>, <b> bold </b>text.</p>"),
      "# Head *ing*\n\nOne two three [link](https://h.example/x?a=1), **bold** text.");
  EXPECT_EQ(text("<ul><li>a<li>b <ol><li>c</li><li>d</li></ol></ul>end"), "- a\n- b\n  1. c\n  2. d\n\nend");
  EXPECT_EQ(text("<pre><code>int x;\n  y;\n</code></pre>"), "```\nint x;\n  y;\n```");
  EXPECT_EQ(text("<blockquote><p>q1</p><p>q2</p></blockquote>after"), "> q1\n>\n> q2\n\nafter");
  EXPECT_EQ(text("<table><tr><th>H1</th><th>H2</th></tr><tr><td>1</td><td>2</td></tr></table>"), "H1 | H2\n1 | 2");
  EXPECT_EQ(text("a<br>b<hr>c"), "a\nb\n\n---\n\nc");
  EXPECT_EQ(text("caf&eacute; &#x1F600; &lt;p&gt; <code>co de</code>"), "caf\xC3\xA9 \xF0\x9F\x98\x80 <p> `co de`");
}

TEST(Page, HasNoScriptsStylesOrNavigation) {
  EXPECT_EQ(
      text("<html><head><title>T</title><style>x{}</style></head><body><nav>menu</nav><script>evil()</script>"
           "<noscript>n</noscript><form>f</form><p>text</p><footer>foot</footer><p aria-hidden=true>h</p></body>"),
      "text");
}

TEST(Page, HasATitle) {
  const auto page = readable("<title>A &amp; B\n C</title><p>x", {}, "https://h.example/");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->title, "A & B C");
}

TEST(Page, IsItsMainPartIfThatIsLongEnough) {
  const std::string much(300, 'x');
  EXPECT_EQ(text("<body><div>around</div><main><p>" + much + "</p></main></body>"), much);
  EXPECT_EQ(text("<body><div>around</div><main><p>little</p></main></body>"), "around\n\nlittle");
}

TEST(Page, HasLinksOfTheWebAlone) {
  EXPECT_EQ(text("<a href=\"javascript:x\">a</a> <a href=\"mailto:x@y\">b</a> <a href=\"#c\">c</a> <a>d</a>"),
            "a b c d");
  EXPECT_EQ(text("<base href=\"https://other.example/z/\"><p><a href=\"w\">a</a>"), "[a](https://other.example/z/w)");
  EXPECT_EQ(text("<a href=\"/x\"><p>one</p><p>two</p></a>"), "one\n\ntwo") << "a link over several lines";
  EXPECT_EQ(text("<img alt=\"a cat\"><img src=x>"), "[image: a cat]");
}

TEST(Page, IsReadInItsCharset) {
  EXPECT_EQ(text("<p>caf\xE9", "iso-8859-1"), "caf\xC3\xA9");
  EXPECT_EQ(text("<meta charset=windows-1251><p>\xCF\xF0\xE8"), "\xD0\x9F\xD1\x80\xD0\xB8");
  EXPECT_EQ(text("<meta charset=windows-1251><p>\xD0\x9F", "utf-8"), "\xD0\x9F") << "the server's word counts";
  EXPECT_EQ(text("<p>plain", "no-such-charset"), "plain");
  EXPECT_EQ(in_utf8("caf\xE9", "latin1"), "caf\xC3\xA9");
  EXPECT_EQ(in_utf8("caf\xE9", "no-such-charset"), "caf\xEF\xBF\xBD");
  EXPECT_EQ(in_utf8("a\xFF", "us-ascii"), "a\xEF\xBF\xBD");
}

// What is deep or broken costs neither the stack nor much time.
TEST(Page, MayBeHostile) {
  std::string deep, bold = "<body>";
  for (int i = 0; i < 200'000; ++i) deep += "<div><b>";
  for (int i = 0; i < 60; ++i) bold += "<b><a href=x>";
  for (int i = 0; i < 20'000; ++i) bold += "word ";
  (void)text(deep + "x");
  EXPECT_NE(text(bold + "<p>end").find("end"), std::string::npos);
  for (const char* const broken :
       {"", "<", "<a", "<a href=\"", "</p></p>", "<!--", "<![CDATA[", "&#x110000;", "\xFF\xFE"})
    (void)text(broken);
  EXPECT_EQ(text(std::string("a\0b", 3)).find('\0'), std::string::npos);
}

TEST(ResolvedUrl, IsTheOneThatThePageMeans) {
  const std::pair<const char*, const char*> cases[] = {{"b", "http://h/a/b"},          {"/b", "http://h/b"},
                                                       {"?b", "http://h/a/d?b"},       {"//o/b", "http://o/b"},
                                                       {"http://z/y#f", "http://z/y"}, {"#f", "http://h/a/d?x=/1"},
                                                       {"", "http://h/a/d?x=/1"},      {" mailto:x ", "mailto:x"}};
  for (const auto& [reference, whole] : cases)
    EXPECT_EQ(resolved_url("http://h/a/d?x=/1", reference), whole) << reference;
  EXPECT_EQ(resolved_url("http://h", "b"), "http://h/b");
  EXPECT_EQ(resolved_url("http://h?x", "b"), "http://h/b");
}

}  // namespace
}  // namespace web_fetch
