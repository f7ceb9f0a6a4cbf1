// SPDX-License-Identifier: Apache-2.0
// Usage: node golden.mjs > tests/unit/tokens/bpe_golden.txt (in a folder with this package.json installed)
// What npm's tiktoken makes of varied texts. A line: the bytes in hexadecimal, then the tokens of
// cl100k_base and of o200k_base, each with special tokens as text and as special. Texts on which
// gpt-tokenizer differs are marked by a comment above them.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Tiktoken } from 'tiktoken';

const require = createRequire(import.meta.url);
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const bytes = (...list) => Buffer.from(list);
const groups = {
  'plain words in several languages': ['', 'a', 'Hello, world!', 'The quick brown fox jumps over the lazy dog.',
    'Der schnelle braune Fuchs, größer als Österreichs Straßen: „Übermäßig“!', 'Le cœur déçu mais l’âme plutôt naïve, où vivent-ils ?',
    'El pingüino Wenceslao hizo kilómetros bajo exhaustiva lluvia; ¿quién?', 'Съешь же ещё этих мягких французских булок, да выпей чаю.',
    '我能吞下玻璃而不伤身体。你好，世界！', '私はガラスを食べられます。それは私を傷つけません。', '나는 유리를 먹을 수 있어요. 그래도 아프지 않아요',
    'أنا قادر على أكل الزجاج و هذا لا يؤلمني.', 'אני יכול לאכול זכוכית וזה לא מזיק לי', 'मैं काँच खा सकता हूँ और मुझे उससे कोई चोट नहीं पहुंचती.',
    'ฉันกินกระจกได้ แต่มันไม่ทำให้ฉันเจ็บ', 'Μπορώ να φάω σπασμένα γυαλιά', 'Tôi có thể ăn thủy tinh mà không hại gì.'],
  'code and data': ['int main(int argc, char** argv) { return argc > 1 ? 0 : 1; }\n', 'def f(x):\n    return {\n        "a": [1, 2, 3],\n    }\n',
    '\tif (!ok)\r\n\t\treturn -1;\r\n', '{"name":"read_file","arguments":{"path":"/etc/hosts","lines":[1,200]}}', 'SELECT * FROM t WHERE a_b = \'x\'\';\n',
    'https://example.org/a/b//c?d=e&f=%20#g', '/* comment */ // another\n///\n#include <vector>', 'getElementByIdHTTPServerXMLParser camelCase snake_case SCREAMING_CASE',
    '<div class="x">&nbsp;</div>', 'ab/\n/\r\n//', '…//\n', '-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n', '$x = "\\u00e9\\n";'],
  'emoji and combining marks': ['🙂', '👨‍👩‍👧‍👦 family', '🇩🇪🇫🇷', '👍🏽!', 'e\u0301te\u0301', '\u0301', ' \u0301x', '\u0301\u0301A', 'A\u0301B\u0301c', 'AB\u0301CD', 'Z̸̧̛a̷l̵g̶o', 'न\u094d', '!\u0301', '!\u0301\u0301A', ' \u0301AB', '\u0301AB', '\u0301\u0301ABc', 'ABªCD', 'ABªCDe', 'ªA', 'ªAª', '☕️ x', '\u200d\u200d'],
  'case': ['ABCdef', 'ABC', 'abcDEF', 'ǅ', 'ǅabc', 'ʰa', 'Aʰ', 'ªº', 'İi', 'ßẞ', 'ⅧⅨ', 'ΑΒΓαβγ', 'DŽ'],
  'white space and newlines': [' ', '  ', '   x', 'x   ', 'x   y', '\n', '\r\n', '\r\n\r\n', ' \n', '\n ', '\n x', ' \r \n \t x', '\t\tx', '\t x', 'a\n\n\nb', 'a \n\n  b', 'a\u00a0b', 'a\u00a0\u00a0b',
    '\u3000\u3000x', '\u2028x', '\u0085', 'a\u0085b', ' \u0085 x', '\ufeffx', ' \ufeff', '\v\f x', '!\n\n x', '! \n', ' '.repeat(100) + 'x', '\n'.repeat(50)],
  'numbers': ['1', '12', '123', '1234', '1234567890', ' 123456', '3.14159', '٣٤٥٦', '½¾', '1\u0301', '一二三', '0x1F', '2026-01-02T03:04:05.678Z', '²³'],
  'contractions': ["don't", "DON'T", "I'VE we'Re they'lL I'm I'D", "'s", "'S'T'M", "'re", "'rE", "'r", "'x", "'", "''s", "a's'd", "x'sabc", "'ſ", "it'ſ", "x'ſabc", "it'ſabc", "'l", "'ll", "l'll", "A'Ve", " 'tis", "o'clock", "'K"],
  'special tokens': ['<|endoftext|>', 'a<|endoftext|>b', '<|endofprompt|>', '<|fim_prefix|>x<|fim_suffix|>y<|fim_middle|>', '<|endoftext|><|endoftext|>', '<|endoftext', '<|<|endoftext|>|>',
    '<||endoftext|>', ' <|endoftext|> ', '<|im_start|>user', '<|ENDOFTEXT|>'],
  'odd characters': ['\0', 'a\0b', '\0\0\0', '\x01\x02', '\x7f', '\u00ad', '\ue000', '\uffff', '\u{10ffff}', '\ufffd', '\u{1d400}\u{1d401}', '\u{20000}', 'ﬁ', '\u{e0100}', '𐐷', 'ꟊ'],
  'ill-formed bytes': [bytes(0x80), bytes(0xff, 0xfe), bytes(0x61, 0xe2, 0x82, 0x62), bytes(0xe2, 0x82), bytes(0xf0, 0x9f, 0x99), bytes(0xf0, 0x9f, 0x99, 0x20), bytes(0xed, 0xa0, 0x80),
    bytes(0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80), bytes(0xc0, 0x80), bytes(0xf4, 0x90, 0x80, 0x80), bytes(0xe0, 0x80, 0x80), bytes(0x20, 0xc3, 0x28), bytes(0xc3), bytes(0x41, 0xc3, 0xc3, 0xa9)],
  'long pieces': ['a'.repeat(300), 'ab'.repeat(200), 'é'.repeat(200), '汉'.repeat(150), '='.repeat(257), 'thisisaverylongidentifierwithoutanybreaks'.repeat(8), 'zqxjkvbpwyfmglcrdhtnsoiauezqxjkvb'.repeat(9),
    '0'.repeat(40), '!?'.repeat(140), 'ก'.repeat(100)],
};

const sides = [];
for (const encoding of ['cl100k_base', 'o200k_base']) {
  const data = JSON.parse(readFileSync(require.resolve(`tiktoken/encoders/${encoding}.json`), 'utf8'));
  const reference = new Tiktoken(data.bpe_ranks, data.special_tokens, data.pat_str);
  const other = await import(`gpt-tokenizer/encoding/${encoding}`);
  sides.push((text) => {
    const plain = [...reference.encode_ordinary(text)];
    const same = other.encode(text, { disallowedSpecial: new Set() }).join() === plain.join();
    return { plain, special: [...reference.encode(text, 'all')], same };
  });
}
console.log("# Made by bench/tokens/golden.mjs with npm's tiktoken 1.0.22.");
let differs = 0;
for (const [name, list] of Object.entries(groups)) {
  console.log(`# ${name}`);
  for (const item of list) {
    const raw = Buffer.from(item);
    const [a, b] = sides.map((side) => side(decoder.decode(raw)));
    if (!a.same || !b.same) {
      ++differs;
      console.log(`# gpt-tokenizer differs: ${JSON.stringify(decoder.decode(raw))}`);
    }
    console.log([raw.toString('hex'), ...[a.plain, a.special, b.plain, b.special].map((ids) => ids.join(','))].join('|'));
  }
}
console.error(`gpt-tokenizer differs on ${differs} texts`);
