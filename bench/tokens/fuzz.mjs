// SPDX-License-Identifier: Apache-2.0
// Usage: node fuzz.mjs BPE_TOKENS [STRINGS] [SEED]
// Random strings of mixed alphabets: our tokens must be those of npm's tiktoken, for both encodings,
// special tokens as text and as special, ill-formed bytes too.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Tiktoken } from 'tiktoken';

const require = createRequire(import.meta.url);
const program = process.argv[2];
const wanted = Number(process.argv[3] ?? 5000);
let state = BigInt(process.argv[4] ?? 1);

// SplitMix64: the same strings on every machine.
function random(below) {
  state = BigInt.asUintN(64, state + 0x9E3779B97F4A7C15n);
  let z = state;
  z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xBF58476D1CE4E5B9n);
  z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94D049BB133111EBn);
  return Number((z ^ (z >> 31n)) % BigInt(below));
}
const pick = (list) => list[random(list.length)];
const codes = (from, to) => String.fromCodePoint(from + random(to - from + 1));

const words = ['the', ' quick', ' Brown', 'HTTPServer', ' getElementById', "'s", "'LL", "'ſ", "don't", "I'VE",
  'ſ', 'function', ' return', 'naïve', ' Straße', ' Привет', 'мир', '東京', '你好', ' 안녕', 'กรุงเทพ', 'हिन्दी', ' עברית',
  'العربية', '<|endoftext|>', '<|endofprompt|>', '<|fim_prefix|>', '<|', '|>', '://', '/*', '*/', '//\n', '\r\n',
  '🙂', '👨‍👩‍👧‍👦', '🇩🇪', 'e\u0301', '\u0301', '\u200d', '\ufeff', '\u0085', '\u00a0', '\u2028', '\u3000', '\ufffd', '\0',
  '12345', '٣٤٥', '½', 'Ⅷ', 'ǅ', 'ʰ', '¿', '--', '=====', '    ', '\t\t', '{"a":', '"},', '\\n', ';', '0x'];
const makers = [
  () => pick(words), () => pick(words), () => pick(words),
  () => codes(32, 126), () => codes(97, 122), () => codes(97, 122), () => codes(65, 90), () => codes(48, 57),
  () => ' '.repeat(1 + random(9)), () => pick(['\n', '\r', '\r\n', ' \n', '\n\n', '\t', '\v', ' \r ']),
  () => codes(0, 255), () => codes(0x100, 0x24f), () => codes(0x300, 0x36f), () => codes(0x370, 0x52f),
  () => codes(0x590, 0x6ff), () => codes(0x900, 0xdff), () => codes(0xe00, 0xe7f), () => codes(0x3040, 0x30ff),
  () => codes(0x4e00, 0x9fff), () => codes(0xac00, 0xd7a3), () => codes(0x2000, 0x2bff), () => codes(0x1f300, 0x1faff),
  () => codes(0xe000, 0xffff), () => codes(0x10000, 0x10ffff), () => pick(['a', 'ab', 'é', 'ア']).repeat(1 + random(40)),
];
function text() {
  const few = Array.from({ length: 1 + random(4) }, () => pick(makers));
  let out = '';
  for (let parts = random(pick([4, 12, 60])); parts > 0; --parts) out += random(3) === 0 ? pick(makers)() : pick(few)();
  return out;
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
// Bytes, and the text that a model gets for them.
function sample() {
  const bytes = Buffer.from(text());
  if (random(5) === 0)
    for (let wrong = 1 + random(4); wrong > 0 && bytes.length > 0; --wrong) bytes[random(bytes.length)] = random(256);
  return { bytes, seen: decoder.decode(bytes) };
}

function ours(encoding, mode, samples) {
  const input = Buffer.concat(samples.flatMap(({ bytes }) => {
    const size = Buffer.alloc(4);
    size.writeUInt32LE(bytes.length);
    return [size, bytes];
  }));
  const done = spawnSync(program, ['encode', encoding, mode], { input, maxBuffer: 1 << 30 });
  if (done.status !== 0) throw new Error(`${program} failed: ${done.stderr}`);
  const answers = [];
  for (let at = 0; at < done.stdout.length;) {
    const count = done.stdout.readUInt32LE(at);
    answers.push(Array.from({ length: count }, (_, i) => done.stdout.readUInt32LE(at + 4 + 4 * i)));
    at += 4 + 4 * count;
  }
  return answers;
}

const samples = Array.from({ length: wanted }, sample);
let mismatches = 0;
for (const encoding of ['cl100k_base', 'o200k_base']) {
  const data = JSON.parse(readFileSync(require.resolve(`tiktoken/encoders/${encoding}.json`), 'utf8'));
  const reference = new Tiktoken(data.bpe_ranks, data.special_tokens, data.pat_str);
  for (const mode of ['text', 'special']) {
    const answers = ours(encoding, mode, samples);
    if (answers.length !== samples.length) throw new Error(`${answers.length} answers for ${samples.length} strings`);
    let tokens = 0;
    samples.forEach(({ seen }, i) => {
      const want = [...(mode === 'text' ? reference.encode_ordinary(seen) : reference.encode(seen, 'all'))];
      tokens += want.length;
      if (want.join() === answers[i].join()) return;
      if (++mismatches <= 10)
        console.log(`MISMATCH ${encoding} ${mode} ${JSON.stringify(seen)}\n  want ${want}\n  have ${answers[i]}`);
    });
    console.log(`${encoding} as ${mode}: ${samples.length} strings, ${tokens} tokens`);
  }
  reference.free();
}
console.log(`${mismatches} mismatches`);
process.exit(mismatches === 0 ? 0 : 1);
