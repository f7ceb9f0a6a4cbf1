// SPDX-License-Identifier: Apache-2.0
// Writes core/tokens/bpe_classes.cc: the character classes of the split patterns, asked of the
// reference's own regular expressions, code point by code point.
// Usage: npm install tiktoken@1.0.22, then: node make_classes.mjs PATH/node_modules > bpe_classes.cc
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const require = createRequire(join(resolve(process.argv[2]), 'x.js'));
const { Tiktoken } = require('tiktoken');
const encoder = require('tiktoken/encoders/cl100k_base.json');

const kPage = 128;
const kPlanes = 0x110000;
// In the order of enum CharClass. A newline is white space too, so it comes last.
const patterns = [null, '[\\p{Lu}\\p{Lt}]', '\\p{Ll}', '[\\p{Lm}\\p{Lo}]', '\\p{M}', '\\p{N}', '\\s', '[\\r\\n]'];

const classes = new Uint8Array(kPlanes);
patterns.forEach((pattern, value) => {
  if (pattern === null) return;
  // What a pattern does not match is dropped by the reference, so an empty answer means "no".
  const probe = new Tiktoken(encoder.bpe_ranks, {}, pattern);
  for (let code = 0; code < kPlanes; ++code) {
    if (code >= 0xd800 && code < 0xe000) continue;
    if (probe.encode_ordinary(String.fromCodePoint(code)).length > 0) classes[code] = value;
  }
  probe.free();
});

const pages = [];
const known = new Map();
const index = [];
for (let from = 0; from < kPlanes; from += kPage) {
  const page = classes.subarray(from, from + kPage).join('');
  if (!known.has(page)) {
    known.set(page, pages.length);
    pages.push(page);
  }
  index.push(known.get(page));
}
while (index.length > 1 && index.at(-1) === index.at(-2)) index.pop();

const words = [];
for (const page of pages)
  for (let at = 0; at < kPage; at += 16)
    words.push('0x' + [...page.slice(at, at + 16)].reverse().join(''));

function rows(items) {
  const lines = [];
  let line = '   ';
  for (const item of items) {
    if (line.length + item.length + 2 > 100) {
      lines.push(line);
      line = '   ';
    }
    line += ` ${item},`;
  }
  return [...lines, line].join('\n');
}

process.stdout.write(`// SPDX-License-Identifier: Apache-2.0
// Made by core/tokens/vocabulary/make_classes.mjs: the classes of Unicode 16.0, as the regular
// expressions of npm's tiktoken 1.0.22 know them.
#include "core/tokens/bpe_classes.h"

namespace agentd {
// clang-format off

// Page of each ${kPage} code points; what is past the end has the last one.
const std::array<std::uint8_t, kClassIndexSize> kClassIndex{
${rows(index.map(String))}
};

// ${pages.length} pages of ${kPage} code points, four bits each, the first in the lowest bits.
const std::array<std::uint64_t, kClassPageCount * kWordsPerClassPage> kClassPages{
${rows(words)}
};

}  // namespace agentd
`);
process.stderr.write(`index ${index.length}, pages ${pages.length}\n`);
