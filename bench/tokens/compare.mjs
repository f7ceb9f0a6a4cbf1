// SPDX-License-Identifier: Apache-2.0
// Usage: node compare.mjs BPE_TOKENS [--once]
// The same texts through gpt-tokenizer, tiktoken and ours, in turns in this one run: the counts must be
// equal, and the times are shown as ratios. gpt-tokenizer keeps the pieces that it merged: it is
// measured with that cache empty, as for a text that is new, and for information with the cache that
// counting the very same text leaves. What a package needs longer for than kPatience is stopped, and one
// that breaks (tiktoken on a megabyte of one letter) counts likewise; ">" stands before the ratio. Exit code 1 on a different count or a missed aim.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const kPatience = 20_000;
const kAim = 3;
const program = process.argv[2], once = process.argv[3] === '--once';
const kTurns = once ? 1 : 3, kBytes = once ? 4096 : 1 << 20;
const kSeconds = once ? '0' : '1';  // of rounds
const kPeers = ['gpt-tokenizer', 'gpt-tokenizer again', 'tiktoken'];
const here = fileURLToPath(new URL('.', import.meta.url));

// Tokens and the nanoseconds of the best round; null for a package that was stopped or broke.
function run(command, args, patience = kPatience) {
  const done = spawnSync(command, args, { encoding: 'utf8', timeout: patience });
  if (patience !== 0 && (done.error?.code === 'ETIMEDOUT' || done.status !== 0)) return null;
  if (done.status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${done.stderr}`);
  const [tokens, ns] = done.stdout.trim().split(' ').map(Number);
  return { tokens, ns };
}
function best(turns) {
  const done = turns.filter((turn) => turn !== null);
  return done.length === 0 ? null : done.reduce((a, b) => (a.ns <= b.ns ? a : b));
}
const version = (name) => JSON.parse(readFileSync(join(here, 'node_modules', name, 'package.json'))).version;
const rate = (bytes, ns) => (bytes / ns * 1000).toFixed(1);

const folder = mkdtempSync(join(tmpdir(), 'tokens-'));
let failures = 0, rows = 0, measured = 0;
function failed(what) {
  ++failures;
  console.log(`FAIL ${what}`);
}
console.log(`gpt-tokenizer ${version('gpt-tokenizer')}, tiktoken ${version('tiktoken')} (WASM), node ${process.version}; ` +
            'MB/s of the best round, warm; x = ours / theirs\n');
const wide = (text) => text.padStart(20);
console.log(`${'encoding'.padEnd(12)} ${'text'.padEnd(18)} ${'tokens'.padStart(8)} ${'ours'.padStart(8)} ` +
            kPeers.map(wide).join(''));
const listed = spawnSync(program, ['texts', folder, String(kBytes)], { encoding: 'utf8' }).stdout.trim().split('\n');
for (const [name, kind] of listed.map((line) => line.split('|'))) {
  const file = join(folder, name);
  const bytes = statSync(file).size;
  for (const encoding of ['cl100k_base', 'o200k_base']) {
    const ourTurns = [];
    const turns = Object.fromEntries(kPeers.map((peer) => [peer, []]));
    for (let turn = 0; turn < (kind === 'pathological' ? 1 : kTurns); ++turn) {
      ourTurns.push(run(program, ['time', encoding, file, kSeconds], 0));
      for (const peer of kPeers)
        turns[peer].push(run(process.execPath, [join(here, 'time.mjs'), peer, encoding, file, kSeconds]));
    }
    const ours = best(ourTurns);
    ++rows;
    measured += Number(ours.tokens > 0 && ours.ns > 0);
    const cells = kPeers.map((peer) => {
      const theirs = best(turns[peer]);
      if (theirs === null) return wide(`> ${Math.floor(kPatience * 1e6 / ours.ns)} x`);
      const ratio = theirs.ns / ours.ns;
      if (theirs.tokens !== ours.tokens) failed(`${encoding} ${name}: ${peer} counts ${theirs.tokens}, we ${ours.tokens}`);
      if (peer === 'gpt-tokenizer' && ratio < kAim && !once) failed(`${encoding} ${name}: ${ratio.toFixed(1)} x ${peer}`);
      return wide(`${rate(bytes, theirs.ns)} ${ratio.toFixed(1).padStart(6)} x`);
    });
    console.log(`${encoding.padEnd(12)} ${name.padEnd(18)} ${String(ours.tokens).padStart(8)} ` +
                `${rate(bytes, ours.ns).padStart(8)} ${cells.join('')}`);
  }
}
rmSync(folder, { recursive: true });
const verdict = once ? 'equal counts on every text' : `equal counts on every text; at least ${kAim} x gpt-tokenizer: met`;
console.log(`\n${failures === 0 ? verdict : `${failures} failures`}`);
console.log(`bench_tokens: rows measured: ${measured} of ${rows}`);
process.exit(failures === 0 && measured === rows && rows > 0 ? 0 : 1);
