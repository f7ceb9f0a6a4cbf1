// SPDX-License-Identifier: Apache-2.0
// differential.mjs - scenarios of hooks, played by the tool that they were written for and by agentd, field by field.
//
// A scenario is settings and a script of the model's answers. Each side plays it in a directory of its own; what it did
// becomes a flat object of fields: effects on the project, the requests to the model, the runs of the hooks with what
// they were given. Fields that differ need a reason from the written list, and each reason of the list a use.
import { spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, statSync,
         writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startModel } from './model_server.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const kTimeMs = 120_000;  // of a process that hangs; nothing is measured by it

// ---- the stage

export function makeStage(scenario) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'differential-')));
  const stage = { root, home: join(root, 'home'), project: join(root, 'project'), hooks: join(root, 'hooks'),
                  temporary: join(root, 'tmp') };
  for (const each of [stage.home, stage.project, stage.hooks, stage.temporary]) mkdirSync(each);
  mkdirSync(join(stage.hooks, 'records'));
  copyFileSync(join(here, 'hook.sh'), join(stage.hooks, 'hook.sh'));
  writeFileSync(join(stage.hooks, 'log'), '');
  for (const [name, script] of Object.entries(scenario.hooks ?? {}))
    writeFileSync(join(stage.hooks, `${name}.do`), `${script}\n`);
  for (const [name, text] of Object.entries(scenario.files ?? {})) writeFileSync(join(stage.project, name), text);
  return stage;
}

export const removeStage = (stage) => rmSync(stage.root, { recursive: true, force: true, maxRetries: 5 });

// What the settings of a scenario call a hook: its name alone.
export const hookCommand = (stage, name) => `bash '${stage.hooks}/hook.sh' ${name}`;

// Every "@NAME" command of the settings as a call of hook.sh; ROOT is the stage's directory.
export function onStage(value, stage) {
  if (typeof value === 'string') {
    if (value.startsWith('@')) return hookCommand(stage, value.slice(1));
    return value.replaceAll('ROOT', stage.root);
  }
  if (Array.isArray(value)) return value.map((each) => onStage(each, stage));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, onStage(each, stage)]));
}

// Runs a program to its end, in a process group of its own that is ended with it.
export async function runProgram(program, args, { cwd, env }) {
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let out = '';
  let err = '';
  child.stdout.on('data', (bytes) => { out += bytes; });
  child.stderr.on('data', (bytes) => { err += bytes; });
  const end = () => { try { process.kill(-child.pid, 'SIGKILL'); } catch { /* it has ended */ } };
  const timer = setTimeout(end, kTimeMs);
  const code = await new Promise((done, fail) => {
    child.on('error', fail);
    child.on('close', (status, signal) => done(signal ?? status));
  });
  clearTimeout(timer);
  end();
  return { code, out, err };
}

// The model's answers as the tool's wire has them: `named(tool, input)` gives its own name and keys of a call. An
// agent that asks more often than the script goes gets "Done.".
function scripted(scenario, stage, named) {
  return (body, number) => {
    const step = (scenario.script ?? [])[number] ?? { text: 'Done.' };
    const calls = (step.calls ?? []).map(({ tool, input }, index) => {
      const call = named(tool, onStage(input, stage));
      return { id: `toolu_${number + 1}_${index + 1}`, ...call };
    });
    return { text: step.text ?? '', calls };
  };
}

// Plays the scenario: `side.settle(stage, scenario, model)` writes the settings, `side.play(stage, run, model)` plays
// one of its runs. Returns what was observed.
export async function play(scenario, side) {
  const stage = makeStage(scenario);
  const model = await startModel(scripted(scenario, stage, side.named), scenario.aside);
  try {
    side.settle(stage, scenario);
    const outputs = [];
    for (const run of scenario.runs ?? [{ prompt: 'do it' }]) outputs.push(await side.play(stage, run, model));
    if (process.env.DIFFERENTIAL_KEEP) console.log(`${side.name}: ${stage.root}`, JSON.stringify(outputs, null, 1),
      JSON.stringify(model.requests.map((each) => each.messages ?? each.contents), null, 1).slice(-6000));
    return observe(scenario, stage, side, model, outputs);
  } finally {
    await model.close();
    if (!process.env.DIFFERENTIAL_KEEP) removeStage(stage);
  }
}

// ---- what was observed

const marks = (text) => [...new Set(text.match(/MARK-[a-z0-9-]+/g) ?? [])].sort();

function listFiles(directory, below = '') {
  return readdirSync(join(directory, below)).flatMap((name) => {
    const path = below ? `${below}/${name}` : name;
    if (name.startsWith('.')) return [];
    return statSync(join(directory, path)).isDirectory() ? listFiles(directory, path) : [path];
  });
}

// The runs of the hooks, as they began.
export function readRuns(stage) {
  const log = readFileSync(join(stage.hooks, 'log'), 'utf8').trim().split('\n').filter(Boolean);
  const lines = log.map((line) => line.split(' '));
  const at = (word, id) => lines.findIndex((line) => line[0] === word && line[2] === id);
  return lines.filter(([word]) => word === 'start').map(([, name, id]) => {
    const record = join(stage.hooks, 'records', id);
    const text = readFileSync(join(record, 'input'), 'utf8');
    const end = at('end', id);
    let input;
    try { input = JSON.parse(text); } catch { input = { '(no JSON)': text }; }
    const environment = Object.fromEntries(readFileSync(join(record, 'environment'), 'utf8').split('\0')
      .filter(Boolean).map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]));
    return { name, id, input, environment, directory: readFileSync(join(record, 'directory'), 'utf8').trim(),
             started: at('start', id), ended: end < 0 ? Infinity : end, killed: end < 0 };
  });
}

const overlap = (a, b) => a.started < b.ended && b.started < a.ended;

function flatten(value, path, out) {
  if (value !== null && typeof value === 'object' && Object.keys(value).length > 0) {
    for (const [key, each] of Object.entries(value)) flatten(each, path ? `${path}.${key}` : key, out);
  } else {
    out[path] = value !== null && typeof value === 'object' ? JSON.stringify(value) : value;
  }
  return out;
}

// Runs of one event at one moment, in the order of the moments; those of one moment may begin in any order.
function moments(runs, side) {
  const out = [];
  for (const run of runs) {
    const key = side.moment(run);
    const last = out.at(-1);
    if (last?.key === key && !last.runs.some(({ name }) => name === run.name)) last.runs.push(run);
    else out.push({ key, runs: [run] });
  }
  return out;
}

function observeRuns(fields, runs, scenario, side) {
  const groups = moments(runs, side);
  fields['hooks: runs'] = groups.map((group) => `${group.key.split(' ')[0]}: ` +
    group.runs.map((run) => run.name).sort().join(' ')).join(', ');
  for (const [first, second] of scenario.together ?? []) {
    const pairs = groups.map((group) => [first, second].map((name) => group.runs.find((run) => run.name === name)));
    fields[`hooks: ${first} and ${second}`] = pairs.filter(([a, b]) => a && b)
      .map(([a, b]) => (overlap(a, b) ? 'at the same time' : 'one after the other')).join(', ') || 'not both asked';
  }
  const counts = {};
  for (const run of groups.flatMap((group) => group.runs)) {
    counts[run.name] = (counts[run.name] ?? 0) + 1;
    const label = `${run.name}#${counts[run.name]}`;
    fields[`hook ${label}: ended`] = run.killed ? 'killed' : 'by itself';
    fields[`hook ${label}: directory`] = run.directory;
    for (const [key, value] of Object.entries(flatten(run.input, '', {}))) fields[`stdin ${label}: ${key}`] = value;
    for (const [key, value] of Object.entries(run.environment))
      if (!side.passed.has(key)) fields[`env ${label}: ${key}`] = value;
  }
}

// For each request: what the tools' results were, and which marks reached the model there for the first time, in the
// text of a result, in a message or in the system prompt.
function observeRequests(fields, requests, side) {
  const seen = new Set();
  const results = new Set();
  fields['model: requests'] = requests.length;
  requests.forEach((body, index) => {
    const read = side.read(body);
    const fresh = read.results.filter(({ id }) => !results.has(id));
    for (const { id } of fresh) results.add(id);
    const label = `request ${index + 1}`;
    fields[`${label}: results`] = fresh.map(({ failed, text }) =>
      [failed ? 'failed' : 'ok', ...marks(text)].join(' ')).join(', ') || 'none';
    const places = { result: fresh.map(({ text }) => text).join('\n'), message: read.messages, system: read.system };
    const arrived = Object.entries(places).flatMap(([place, text]) => marks(text).map((mark) => ({ place, mark })))
      .filter(({ place, mark }) => !seen.has(`${place} ${mark}`));
    for (const { place, mark } of arrived) seen.add(`${place} ${mark}`);
    for (const place of ['message', 'system'])
      fields[`${label}: new in ${place}`] =
        arrived.filter((each) => each.place === place).map(({ mark }) => mark).join(' ') || 'nothing';
  });
}

function observe(scenario, stage, side, model, outputs) {
  const fields = {};
  const runs = readRuns(stage);
  for (const path of listFiles(stage.project))
    fields[`effect: ${path}`] = readFileSync(join(stage.project, path), 'utf8');
  observeRequests(fields, model.requests, side);
  observeRuns(fields, runs, scenario, side);
  fields['end: user is told'] = marks(outputs.map(side.shown).join('\n'))
    .filter((mark) => (scenario.told ?? []).includes(mark)).join(' ') || 'nothing';
  fields['end: outcome'] = outputs.map(side.outcome).join(', ');
  if (model.failures.length > 0) fields['model: failures'] = model.failures.join('; ');
  return Object.fromEntries(Object.entries(fields)
    .map(([key, value]) => [key, side.normal(value, key, stage, fields)]));
}

// ---- the comparison

// Each reason of `allowed` is {scenario, field, reason}, with scenario and field as regular expressions that match the
// whole; `real` and `ours`, when there, must match the two values.
export class Comparison {
  constructor(name, allowed) {
    this.name = name;
    this.allowed = allowed.map((each) => ({ ...each, uses: 0 }));
    this.rows = [];
  }

  reasonFor(scenario, field, real, ours) {
    const whole = (pattern, text) => new RegExp(`^(?:${pattern})$`, 's').test(text);
    const says = (pattern, value) =>
      pattern === undefined || whole(pattern, value === undefined ? 'absent' : `${value}`);
    return this.allowed.find((each) => whole(each.scenario ?? '.*', scenario) && whole(each.field, field) &&
      says(each.real, real) && says(each.ours, ours));
  }

  compare(scenario, real, ours) {
    const fields = [...new Set([...Object.keys(real), ...Object.keys(ours)])];
    // A run that only one side had is told by 'hooks: runs'; what it was given is compared with nothing.
    const runOf = (field) => field.match(/^(?:hook|stdin|env) ([^:]*#\d+): /)?.[1];
    const ran = (side, run) => `hook ${run}: ended` in side;
    for (const field of fields) {
      const run = runOf(field);
      if (run && ran(real, run) !== ran(ours, run)) continue;
      const same = real[field] === ours[field];
      const reason = same ? undefined : this.reasonFor(scenario, field, real[field], ours[field]);
      if (reason) ++reason.uses;
      this.rows.push({ scenario, field, same, reason, real: real[field], ours: ours[field] });
    }
  }

  differing() { return this.rows.filter((row) => !row.same && !row.reason); }

  // The table, one line for each scenario and kind of field, and below it what differs. False = red. `part`: reasons
  // that are of no use are no matter, since not all scenarios were played.
  print(part) {
    const kinds = ['effect', 'model', 'request', 'hooks', 'hook', 'stdin', 'env', 'end'];
    const cell = (rows) => {
      if (rows.length === 0) return '-';
      const differ = rows.filter((row) => !row.same && !row.reason).length;
      const excused = rows.filter((row) => row.reason).length;
      if (differ > 0) return `DIFFERS ${differ}`;
      return excused > 0 ? `${rows.length - excused} same, ${excused} differ` : `${rows.length} same`;
    };
    const scenarios = [...new Set(this.rows.map((row) => row.scenario))];
    const table = [['scenario', ...kinds], ...scenarios.map((scenario) => [scenario, ...kinds.map((kind) =>
      cell(this.rows.filter((row) => row.scenario === scenario && row.field.split(/[ :]/)[0] === kind)))])];
    const widths = table[0].map((_, column) => Math.max(...table.map((row) => row[column].length)));
    for (const row of table) console.log(row.map((text, column) => text.padEnd(widths[column])).join('  ').trimEnd());
    const quoted = (value) => (value === undefined ? 'absent' : JSON.stringify(value).slice(0, 160));
    for (const row of this.differing())
      console.log(`DIFFERS ${row.scenario} | ${row.field} | ${this.name}: ${quoted(row.real)} | ` +
        `agentd: ${quoted(row.ours)}`);
    for (const each of this.allowed.filter(({ uses }) => uses > 0))
      console.log(`differs ${each.uses} times | ${each.scenario ?? 'all'} | ${each.field} | ${each.reason}`);
    const stale = part ? [] : this.allowed.filter(({ uses }) => uses === 0);
    for (const each of stale)
      console.log(`STALE reason, nothing differs so | ${each.scenario ?? 'all'} | ${each.field}`);
    return this.differing().length === 0 && stale.length === 0 && this.rows.length > 0;
  }
}

// Plays all scenarios on both sides, a few at a time, and compares them in their order.
export async function playAll(scenarios, real, ours, comparison) {
  const played = new Map();
  const waiting = [...scenarios];
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift())
      played.set(next.name, await Promise.all([play(next, real), play(next, ours)]));
  };
  await Promise.all([work(), work()]);
  for (const { name } of scenarios) comparison.compare(name, ...played.get(name));
  return played;
}

// A control: each sin is {name, scenario, alter, field}; agentd plays the altered scenario, and the comparison with
// what the real tool did must find a difference in the field.
export async function findSins(sins, played, scenarios, ours, allowed, name) {
  let found = 0;
  for (const sin of sins) {
    const scenario = scenarios.find((each) => each.name === sin.scenario);
    const comparison = new Comparison(name, allowed);
    const altered = sin.alter(structuredClone(scenario));
    comparison.compare(scenario.name, played.get(scenario.name)[0], await play(altered, ours));
    const seen = comparison.differing().some((row) => new RegExp(sin.field).test(row.field));
    if (seen) ++found;
    else console.log(`NOT FOUND: the planted difference '${sin.name}'`);
  }
  console.log(`control: ${found} of ${sins.length} planted differences found`);
  return found === sins.length && found > 0;
}

// The whole of it: 0 when every field is the same or differs for a reason that is written down, every reason is used,
// and every planted difference is found. `--only NAME` plays the scenarios of that name, a regular expression.
export async function runDifferential({ package: what, program, scenarios, sins, allowed, real, ours }) {
  if (!existsSync(program)) throw new Error(`no program at ${program}`);
  const at = process.argv.indexOf('--only');
  const only = at < 0 ? '' : process.argv[at + 1];
  const chosen = scenarios.filter(({ name }) => !only || new RegExp(`^(?:${only})$`).test(name));
  const comparison = new Comparison(real.name, allowed);
  const played = await playAll(chosen, real, ours, comparison);
  const good = comparison.print(only !== '');
  const controlled = only !== '' || await findSins(sins, played, scenarios, ours, allowed, real.name);
  const { length } = comparison.rows;
  const excused = comparison.rows.filter(({ reason }) => reason).length;
  console.log(`${what}: ${chosen.length} scenarios, ${length} comparisons, ${excused} differ for a reason, ` +
    `${comparison.differing().length} without one`);
  process.exit(good && controlled ? 0 : 1);
}

export { join, mkdirSync, readFileSync, writeFileSync };
