// SPDX-License-Identifier: Apache-2.0
// counted.mjs - checks that are counted: a run that made none proves nothing.
import { isDeepStrictEqual } from 'node:util';

let checks = 0;
let failures = 0;

export function check(name, got, want) {
  ++checks;
  if (isDeepStrictEqual(got, want)) return;
  ++failures;
  console.log(`FAIL ${name}: got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`);
}

// Says what was done, and ends the program: 0 when there were checks and all of them held.
export function finish(what) {
  console.log(`${what}, ${checks} checks, ${failures} failures`);
  process.exit(failures === 0 && checks > 0 ? 0 : 1);
}
