// SPDX-License-Identifier: Apache-2.0
// Usage: node http_readings.mjs HTTP_ECHO [CASES [SEED]]
// Requests of a seeded grammar, sent to the server of `agentd serve` and to node's own, which is another implementation
// of HTTP/1.1. What ours takes, node must take in the same reading: method, target, fields and body, one request after
// the other. Ours may refuse more. Two planted servers are compared first, whose differences must be found: one that is
// lenient, and one that reads a field wrongly.
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import { makeCase, randomOf } from './http_cases.mjs';
import { reasons } from './http_reasons.mjs';

const kAtOnce = 16;
const kTimeMs = 60_000;  // of a server that hangs; nothing is measured by it
const kShown = 10;

// ---- servers

const hex = (text) => Buffer.from(text, 'latin1').toString('hex');

function nodeServer(lenient, wrong = (fields) => fields) {
  const server = createServer({ insecureHTTPParser: lenient, maxHeaderSize: 128 << 10, requireHostHeader: !lenient,
                                keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 });
  server.maxHeadersCount = 0;
  server.httpAllowHalfOpen = true;
  // What follows a complete request, be it an end or bytes that are none, comes before its answer is sent, and is looked
  // at behind it.
  const unanswered = new WeakMap();  // of each connection
  const refused = new WeakSet();
  const refuse = (socket) => {
    if (!refused.has(socket) || [...unanswered.get(socket) ?? []].some((each) => each.complete)) return;
    if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
    else socket.destroy();
  };
  server.on('request', (request, response) => {
    const { socket } = request;
    if (!unanswered.has(socket)) unanswered.set(socket, new Set());
    unanswered.get(socket).add(request);
    response.on('close', () => { unanswered.get(socket).delete(request); refuse(socket); });
    const parts = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', () => {
      let fields = [];
      for (let i = 0; i < request.rawHeaders.length; i += 2)
        fields.push(`${hex(request.rawHeaders[i].toLowerCase())}:${hex(request.rawHeaders[i + 1])}`);
      fields = wrong(fields);
      const reading = { method: hex(request.method), target: hex(request.url), fields,
                        body: Buffer.concat(parts).toString('hex') };
      response.setHeader('X-Reading', hex(JSON.stringify(reading)));
      response.end();
    });
  });
  // Without a listener node forgets an error behind a request that asks for another protocol.
  for (const each of ['connect', 'upgrade'])
    server.on(each, (request, socket) => { refused.add(socket); refuse(socket); });
  server.on('clientError', (error, socket) => { refused.add(socket); refuse(socket); });
  return new Promise((done) => server.listen(0, '127.0.0.1', () => done(server)));
}

async function ourServer(program) {
  const child = spawn(program, [], { stdio: ['pipe', 'pipe', 'inherit'] });
  const port = await new Promise((done, fail) => {
    child.on('error', fail);
    child.on('exit', () => fail(new Error('http_echo has ended')));
    child.stdout.once('data', (bytes) => done(Number(String(bytes))));
  });
  return { port, end: () => child.stdin.end() };
}

// ---- readings

// How a server reads the bytes of a connection: the requests that it answered with 200, in order.
function readings(port, bytes) {
  return new Promise((done, fail) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    const parts = [];
    const hangs = () => { socket.destroy(); fail(new Error(`no end of ${JSON.stringify(String(bytes))}`)); };
    const timer = setTimeout(hangs, kTimeMs);
    const end = () => {
      clearTimeout(timer);
      socket.destroy();
      done(readingsIn(Buffer.concat(parts).toString('latin1')));
    };
    socket.on('data', (part) => parts.push(part));
    socket.on('end', end);
    socket.on('error', end);  // the answers that came count
    socket.end(bytes);
  });
}

function readingsIn(answers) {
  const out = [];
  for (const [, digits] of answers.matchAll(/\r\nX-Reading: ([0-9a-f]*)\r\n/g)) {
    const raw = JSON.parse(Buffer.from(digits, 'hex').toString('latin1'));
    const text = (value) => Buffer.from(value, 'hex').toString('latin1');
    out.push({ method: text(raw.method), target: text(raw.target), body: text(raw.body),
               fields: raw.fields.map((each) => each.split(':').map(text).join(': ')) });
  }
  return out;
}

// Compares what `ours` takes of the cases of the seed with what `node` takes.
async function compare(ours, node, count, seed) {
  const random = randomOf(seed);
  const out = { cases: 0, both: 0, fewer: 0, none: 0, differ: [], used: new Map() };
  const cases = Array.from({ length: count }, () => makeCase(random));
  const judge = (bytes, mine, theirs) => {
    ++out.cases;
    if (mine.length === 0 && theirs.length === 0) ++out.none;
    if (mine.length < theirs.length) ++out.fewer;
    for (const [i, reading] of mine.entries()) {
      if (isDeepStrictEqual(reading, theirs[i])) { ++out.both; continue; }
      const reason = reasons.find((each) => each.holds(reading, theirs[i]));
      if (reason) out.used.set(reason.name, (out.used.get(reason.name) ?? 0) + 1);
      else out.differ.push({ bytes: bytes.toString('latin1'), ours: reading, node: theirs[i] ?? 'refused' });
      return;  // behind it they read other bytes
    }
  };
  for (let from = 0; from < cases.length; from += kAtOnce)
    await Promise.all(cases.slice(from, from + kAtOnce).map(async (bytes) =>
      judge(bytes, await readings(ours, bytes), await readings(node, bytes))));
  return out;
}

// ---- the run

const [program, countText = '4000', seedText = String((Math.random() * 0x1_0000_0000) >>> 0)] = process.argv.slice(2);
const count = Number(countText);
const seed = Number(seedText);
const problems = [];
const expect = (holds, what) => { if (!holds) problems.push(what); };

const strict = await nodeServer(false);
const lenient = await nodeServer(true);
const planted = await nodeServer(false, (fields) => fields.map((each) => each.replace(/^(782d61:).*/, '$1')));
const ours = await ourServer(program);

// ---- controls
const kControls = 600;
const ports = { strict: strict.address().port, lenient: lenient.address().port, planted: planted.address().port };
const self = await compare(ports.strict, ports.strict, kControls, seed);
expect(self.differ.length === 0 && self.both > 100, `node differs from itself: ${JSON.stringify(self.differ[0])}`);
const open = await compare(ports.lenient, ports.strict, kControls, seed);
expect(open.differ.length > 0, 'a lenient server was not found');
const wrong = await compare(ports.planted, ports.strict, kControls, seed);
expect(wrong.differ.length > 0, 'a field that is read wrongly was not found');

const found = await compare(ours.port, ports.strict, count, seed);
expect(found.cases >= 2000 || countText !== '4000', `only ${found.cases} cases`);
expect(found.both >= found.cases / 10, `ours and node took only ${found.both} requests of ${found.cases} cases`);
expect(found.none > 0 && found.fewer > 0, 'nothing was refused');
for (const each of found.differ.slice(0, kShown)) console.log(`DIFFERS ${JSON.stringify(each)}`);
expect(found.differ.length === 0, `${found.differ.length} requests are taken, and read in another way by node`);
for (const each of reasons) expect(found.used.has(each.name), `the reason '${each.name}' was not used`);

const excused = [...found.used.values()].reduce((sum, each) => sum + each, 0);
console.log(`http: seed ${seed}, ${found.cases} connections: ${found.both} requests read in the same way by ours and ` +
            `node ${process.version}, ${found.fewer} connections of which ours takes less, ${found.none} refused by ` +
            `both, ${excused} differences with a reason; ` +
            `planted: ${open.differ.length} of a lenient server, ${wrong.differ.length} of a wrong field`);
for (const each of problems) console.log(`FAIL ${each}`);
ours.end();
for (const each of [strict, lenient, planted]) { each.close(); each.closeAllConnections(); }
process.exitCode = problems.length === 0 ? 0 : 1;
