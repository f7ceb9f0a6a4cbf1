// SPDX-License-Identifier: Apache-2.0
// Usage: node time.mjs gpt-tokenizer|"gpt-tokenizer again"|tiktoken ENCODING FILE [SECONDS]
// Prints the tokens of the file and the nanoseconds of the best of several rounds, after a first one
// that warms the package up.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [name, encoding, file, seconds = '1'] = process.argv.slice(2);
const text = readFileSync(file, 'utf8');

let forget = () => {};  // what the package keeps from one count to the next
async function counter() {
  if (name === 'tiktoken') {
    const { Tiktoken } = await import('tiktoken');
    const path = createRequire(import.meta.url).resolve(`tiktoken/encoders/${encoding}.json`);
    const data = JSON.parse(readFileSync(path, 'utf8'));
    const reference = new Tiktoken(data.bpe_ranks, data.special_tokens, data.pat_str);
    return () => reference.encode_ordinary(text).length;
  }
  const { countTokens, clearMergeCache } = await import(`gpt-tokenizer/encoding/${encoding}`);
  if (name === 'gpt-tokenizer') forget = clearMergeCache;
  // Special tokens are ordinary text, as for the others.
  const options = { disallowedSpecial: new Set() };
  return () => countTokens(text, options);
}

const count = await counter();
let tokens = count();
let best = Infinity;
for (let all = 0, first = true; first || all < Number(seconds) * 1e9; first = false) {
  forget();
  const from = process.hrtime.bigint();
  tokens = count();
  const took = Number(process.hrtime.bigint() - from);
  best = Math.min(best, took);
  all += took;
}
console.log(`${tokens} ${best}`);
