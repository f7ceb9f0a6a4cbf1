// SPDX-License-Identifier: Apache-2.0
// http_cases.mjs - requests as clients, proxies and attackers write them: bytes of one connection, from a seed.

// A generator of 32 bits (mulberry32), so that a seed gives the same cases everywhere.
export function randomOf(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  const below = (limit) => next() % limit;
  return { below, one: (list) => list[below(list.length)], chance: (of) => below(of) === 0 };
}

// The parts of a request: the usual ones stand more than once, so that most requests have one oddity or two. No
// Proxy-Connection, which no RFC has: node ends the connection at it.
const kMethods = ['GET', 'GET', 'GET', 'POST', 'POST', 'POST', 'DELETE', 'HEAD', 'OPTIONS', 'PUT', 'PATCH',
                  'get', 'Post', 'GE T', 'G\u0000ET', 'FETCH', '', 'POST\t', 'PRI'];
const kTargets = ['/', '/a', '/a/b?c=d', '/a/b?c=d&e=f%20g', '/%41', '/a%2fb', '//a', '/../a', '/a#b', '/a b',
                  '/a\tb', 'http://h/a', 'http://h:80/', 'h:80', '*', '', 'a', '/ä', '/%', '/%0', '/%zz',
                  '/a\u0000', '/a\u007f', '/\\', '/a|b', '/"', '/{a}', `/${'a'.repeat(9000)}`];
const kVersions = ['HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/0.9',
                   'HTTP/2.0', 'HTTP/1.2', 'http/1.1', 'HTTP/1.1 ', 'HTTP/11', 'HTTP/1.', 'HTTP/1.1x',
                   'ICE/1.0', ''];
const kHosts = ['Host: h', 'Host: h', 'Host: h', 'Host: h:80', 'host:h', 'HOST:  h', 'Host: h ', 'Host:\th',
                '', 'Host:', 'Host: h\r\nHost: h', 'Host: h\r\nHost: i', 'Host : h', 'Host: h/x', 'Host: h@i',
                'Host: h, i'];
const kFields = ['Accept: */*', 'X-A: b', 'X-A:b', 'X-A:  b  ', 'X-A:\tb\t', 'X-A: b\tc', 'X-A:', 'X-A: ',
                 'x-a: B', 'X_A: b', 'X.A: b', 'X-A : b', ' X-A: b', '\tX-A: b', 'X-A: b\r\n c',
                 'X-A: b\r\n\tc', 'X-A', ':b', 'X A: b', 'X-A: b\u0000c', 'X-A: b\rc', 'X-A: b\nX-B: c',
                 'X-A: b\u000bc', 'X-A: b\u007fc', 'X-A: ä', 'X-ä: b', 'X-A: b\r\n', 'X(A): b', 'X-A: "b"',
                 'Cookie: a=b; c=d', 'Connection: close', 'Connection: keep-alive', 'Connection: close, x',
                 'Connection: upgrade\r\nUpgrade: h2c', 'Upgrade: websocket', 'Expect: 100-continue',
                 'Expect: 100-Continue', 'Expect: x', 'Trailer: X-T', 'TE: trailers',
                 'Content-Type: application/json', 'Content-Encoding: gzip', 'Keep-Alive: 5',
                 `X-Long: ${'x'.repeat(3000)}`, `X-Longer: ${'x'.repeat(40000)}`,
                 `X-${'n'.repeat(300)}: b`];
const kEnds = ['\r\n', '\r\n', '\r\n', '\r\n', '\r\n', '\r\n', '\r\n', '\n', '\r', '\r\r\n', '\n\r'];
const kBody = 'hello body';
const kLengths = ['10', '10', '10', '010', '+10', '-10', '10 ', ' 10', '\t10', '10,10', '10, 10', '0x0a',
                  '1e1', '10.0', '', ' ', '9', '11', '0', '00', '99999999999999999999',
                  '18446744073709551626', '10\r\nContent-Length: 10', '10\r\nContent-Length: 9',
                  '10\r\ncontent-length: 0', '１０'];
const kCodings = ['chunked', 'chunked', 'chunked', 'Chunked', 'CHUNKED', ' chunked ', 'chunked\t',
                  '\tchunked', 'chunked,', ',chunked', 'chunked, chunked', 'gzip, chunked', 'chunked, gzip',
                  'gzip', 'identity', '"chunked"', 'chunked;q=1', 'x chunked', 'xchunked', 'chunkedx', '',
                  'chunked\r\nTransfer-Encoding: chunked', 'chunked\r\nTransfer-Encoding: identity',
                  'chunked\u0000', '\u000bchunked'];
const kChunks = ['a\r\nhello body\r\n0\r\n\r\n', 'a\r\nhello body\r\n0\r\n\r\n',
                 'A\r\nhello body\r\n0\r\n\r\n', '5\r\nhello\r\n5\r\n body\r\n0\r\n\r\n', '0\r\n\r\n',
                 '00\r\n\r\n', '0a\r\nhello body\r\n0\r\n\r\n', '000000000000000a\r\nhello body\r\n0\r\n\r\n',
                 '0000000000000000000000a\r\nhello body\r\n0\r\n\r\n', '0xa\r\nhello body\r\n0\r\n\r\n',
                 '+a\r\nhello body\r\n0\r\n\r\n', '-a\r\nhello body\r\n0\r\n\r\n',
                 ' a\r\nhello body\r\n0\r\n\r\n', 'a \r\nhello body\r\n0\r\n\r\n',
                 'a;x\r\nhello body\r\n0\r\n\r\n', 'a;x=y\r\nhello body\r\n0\r\n\r\n',
                 'a;x="y\r\n"\r\nhello body\r\n0\r\n\r\n', 'a ;x=y\r\nhello body\r\n0\r\n\r\n',
                 'a\nhello body\r\n0\r\n\r\n', 'a\r\nhello body\n0\r\n\r\n', 'a\r\nhello body0\r\n\r\n',
                 'a\r\nhello body\r\n0\r\nX-T: y\r\n\r\n',
                 'a\r\nhello body\r\n0\r\nContent-Length: 5\r\n\r\n', 'a\r\nhello body\r\n0\r\n',
                 'a\r\nhello body\r\n0\n\n', 'a\r\nhello body\r\n\r\n', 'a\r\nhello',
                 'b\r\nhello body\r\n0\r\n\r\n', '9\r\nhello body\r\n0\r\n\r\n',
                 'g\r\nhello body\r\n0\r\n\r\n', '\r\na\r\nhello body\r\n0\r\n\r\n',
                 'ffffffffffffffff\r\nhello', '10000000000000000\r\nhello body\r\n0\r\n\r\n',
                 'a\r\nhello body\r\n0\r\n\r\nextra', 'a\r\rhello body\r\n0\r\n\r\n',
                 'a\r\nhello body\r\r\n0\r\n\r\n'];
const kBegins = ['', '', '', '', '', '', '', '', '\r\n', '\r\n\r\n', '\n', ' ', '\u0000',
                 '\u00ef\u00bb\u00bf', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', '\u0016\u0003\u0001'];

// One that has nothing odd, for the others to stand beside.
const kPlainHead = '/plain HTTP/1.1\r\nHost: h\r\n';
const plain = (random) => random.one([
  `GET ${kPlainHead}\r\n`,
  `POST ${kPlainHead}Content-Length: 5\r\n\r\nplain`,
  `POST ${kPlainHead}Transfer-Encoding: chunked\r\n\r\n5\r\nplain\r\n0\r\n\r\n`,
]);

function request(random) {
  // How often an odd part may stand in for the usual one.
  const odd = (list, usual) => (random.chance(4) ? random.one(list) : usual);
  const end = random.chance(8) ? random.one(kEnds) : '\r\n';
  const hasBody = random.chance(2);
  const method = odd(kMethods, hasBody ? 'POST' : 'GET');
  const space = random.chance(30) ? random.one(['  ', '\t', '', ' \t', '\u000b']) : ' ';
  const lines = [`${method}${space}${odd(kTargets, '/a')}${space}${odd(kVersions, 'HTTP/1.1')}`];
  const host = odd(kHosts, 'Host: h');
  if (host !== '') lines.push(host);
  const usual = ['Accept: */*', 'X-A: b', 'User-Agent: x'];
  for (let i = random.below(3); i > 0; --i) lines.push(odd(kFields, random.one(usual)));
  if (random.chance(60)) for (let i = 0; i < 120; ++i) lines.push(`X-${i}: y`);
  let body = '';
  if (hasBody) {
    const kind = random.below(8);
    const length = `Content-Length: ${odd(kLengths, '10')}`;
    const coding = `Transfer-Encoding: ${odd(kCodings, 'chunked')}`;
    if (kind < 3) lines.push(length);
    if (kind >= 3 && kind < 6) lines.push(coding);
    if (kind === 6) lines.push(...(random.chance(2) ? [length, coding] : [coding, length]));
    const chunks = kind >= 3 && kind < 7;
    body = chunks ? odd(kChunks, 'a\r\nhello body\r\n0\r\n\r\n') : odd([kBody, 'hello', `${kBody}more`, ''], kBody);
  }
  if (random.chance(12)) lines.push(random.one(kFields));
  return `${lines.join(end)}${end}${end}${body}`;
}

// The bytes of a connection, as latin-1 text.
export function makeCase(random) {
  let bytes = random.one(kBegins);
  for (let i = random.chance(3) ? 2 : 1; i > 0; --i) bytes += random.chance(6) ? plain(random) : request(random);
  if (random.chance(10)) bytes += plain(random);
  // A byte that is lost, doubled or changed.
  if (random.chance(12) && bytes.length > 1) {
    const at = random.below(bytes.length);
    const put = random.one(['', bytes[at] + bytes[at], '\u0000', '\r', '\n', ' ', '\u0080']);
    bytes = bytes.slice(0, at) + put + bytes.slice(at + 1);
  }
  return Buffer.from(bytes, 'latin1');
}
