// SPDX-License-Identifier: Apache-2.0
// http_reasons.mjs - where the daemon's server may take a request that node's does not, and why. Each is used by a run,
// or the run fails.

export const reasons = [
  { name: 'a method that node does not know',
    holds: (ours, node) => node === undefined && !kNodeMethods.has(ours.method),
    why: 'any token is a method (RFC 9110, 9.1); the daemon answers 405 to what no route has' },
];

// Of llhttp (RFC 9110 and its extensions), as http.METHODS of node has them.
import { METHODS } from 'node:http';
const kNodeMethods = new Set(METHODS);
