// The page as a client of the engine: one stream of updates, queries for transcripts, commands for what the user does.
// State lives in `state`; `render…` functions turn it into elements. Text of agents only ever becomes text nodes.

const $ = (id) => document.getElementById(id);
const LOGIN = 'mxd.login', PROJECT = 'mxd.project';
const PAGE = 60;
const MAX_LIVE = 200_000;

const state = {
  project: null, epoch: null, lastId: '', tasks: new Map(), root: null, selected: null,
  events: [], more: false, loaded: false, lives: new Map(), scopes: [], unsent: [],
};

/* Small helpers */

function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === 'on') for (const [event, run] of Object.entries(value)) node.addEventListener(event, run);
    else if (name in node && !name.startsWith('aria')) node[name] = value;
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== ''));
  return node;
}

function freshKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

const may = (scope) => state.scopes.includes(scope);
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const path = (rest) => `/v1/projects/${encodeURIComponent(state.project)}${rest}`;

/* Requests */

class Refused extends Error {
  constructor(status, fault) {
    super(fault.message ?? `The server answered ${status}.`);
    Object.assign(this, { status, fault });
  }
}

function headers(more = {}) {
  return { 'X-Mxd-Page': localStorage.getItem(LOGIN) ?? '', ...more };
}

async function request(url, options = {}) {
  const response = await fetch(url, { credentials: 'same-origin', cache: 'no-store', ...options, headers: headers(options.headers) });
  if (response.ok) return response.status === 204 ? null : response.json();
  throw new Refused(response.status, await response.json().catch(() => ({})));
}

const post = (url, body, more = {}) =>
  request(url, { method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/json', ...more } });

// Sends a change until it is answered. The key makes a repeat harmless. A server that fails is asked three times.
async function change(url, body) {
  const key = freshKey();
  for (let wait = 500, failures = 0; ; wait = Math.min(wait * 2, 8000)) {
    try {
      return await post(url, body, { 'Idempotency-Key': key });
    } catch (error) {
      if (error instanceof Refused && (error.status < 500 || ++failures === 3)) throw error;
      await pause(wait);
    }
  }
}

/* Login */

function takeLoginFromAddress() {
  const login = new URLSearchParams(location.hash.slice(1)).get('login');
  if (!login) return;
  localStorage.setItem(LOGIN, login);
  history.replaceState(null, '', '/');
}

function showLogin(problem = '') {
  $('app').hidden = true;
  $('login').hidden = false;
  $('to-asks').hidden = true;
  $('to-tree').hidden = true;
  $('offline').hidden = true;
  $('login-problem').textContent = problem;
  $('token').focus();
}

$('login-form').addEventListener('submit', async (event) => {
  event.preventDefault();
  const token = $('token').value.trim();
  try {
    const answer = await fetch('/v1/session', { method: 'POST', headers: { Authorization: `Bearer ${token}` } });
    const body = await answer.json().catch(() => ({}));
    if (!answer.ok) return showLogin([body.message, ...(answer.status === 429 ? body.hints : [])].join('. '));
    localStorage.setItem(LOGIN, body.page);
    location.reload();
  } catch {
    showLogin('The server cannot be reached.');
  }
});

$('logout').addEventListener('click', async () => {
  await request('/v1/session', { method: 'DELETE' }).catch(() => null);
  localStorage.removeItem(LOGIN);
  location.reload();
});

/* The stream of updates */

async function* serverEvents(reader) {
  const decoder = new TextDecoder();
  let buffer = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    buffer += decoder.decode(value, { stream: true });
    for (let end; (end = buffer.indexOf('\n\n')) >= 0; buffer = buffer.slice(end + 2)) {
      const event = {};
      for (const line of buffer.slice(0, end).split('\n')) {
        const at = line.indexOf(': ');
        if (at > 0) event[line.slice(0, at)] = line.slice(at + 2);
      }
      if (event.event) yield event;
    }
  }
}

async function follow() {
  for (let wait = 300; ; wait = Math.min(wait * 2, 5000)) {
    const cut = new AbortController();
    // The server sends something every 15 seconds. Silence means that the connection is gone.
    let watchdog;
    const alive = () => { clearTimeout(watchdog); state.heard = Date.now(); watchdog = setTimeout(() => cut.abort(), 40_000); };
    const stop = state.stop = () => cut.abort();
    try {
      const response = await fetch(path('/updates'), { headers: headers({ 'Last-Event-ID': state.lastId }), cache: 'no-store', signal: cut.signal });
      if (response.status === 401) return showLogin('The login has ended.');
      if (!response.ok) throw new Refused(response.status, await response.json().catch(() => ({})));
      alive();
      const reader = response.body.getReader();
      const watched = { read: async () => { const chunk = await reader.read(); alive(); return chunk; } };
      for await (const event of serverEvents(watched)) {
        $('offline').hidden = true;
        wait = 300;
        if (event.id) state.lastId = event.id;
        onEvent(event.event, JSON.parse(event.data));
      }
    } catch (error) {
      if (error instanceof Refused && error.status === 404) await findProject().catch(() => null);
    } finally {
      clearTimeout(watchdog);
    }
    if (state.stop !== stop) return;
    $('offline').hidden = false;
    await pause(wait);
  }
}

// A phone that lost its network notices it at once.
addEventListener('offline', () => state.stop?.());
// So does one that slept: its timers slept, too.
document.addEventListener('visibilitychange', () => {
  if (!document.hidden && Date.now() - state.heard > 20_000) state.stop?.();
});

function onEvent(kind, data) {
  switch (kind) {
    case 'snapshot': return onSnapshot(data);
    case 'task': state.tasks.set(data.task.node.id, data.task); return onTask(data.task.node.id);
    case 'removed': state.tasks.delete(data.task); return onTask(data.task);
    case 'event': return onLogged(data.task, data.event);
    case 'live': return onLive(data.task, data.live);
    case 'notice': return say(data.notice.text);
    case 'clients': state.clients = data.clients; return renderSoon('tree', renderTree);
    case 'ended': return say('The engine has ended.');
    case 'fault': return say(data.message);
  }
}

function onSnapshot(snapshot) {
  state.root = snapshot.root;
  state.clients = snapshot.clients ?? [];
  state.tasks = new Map(snapshot.tasks.map((task) => [task.node.id, task]));
  state.lives = new Map(Object.entries(snapshot.live ?? {}).map(([task, turn]) =>
    [task, { text: turn.text?.text ?? '', thinking: turn.thinking?.text ?? '', call: turn.call?.name }]));
  $('project-name').textContent = $('project').hidden ? snapshot.project.name : '';
  if (!state.tasks.has(state.selected)) state.selected = snapshot.root;
  open(state.selected);
}

function onTask(id) {
  if (!state.tasks.has(state.selected)) return open(state.root);
  renderSoon('tree', renderTree);
  renderSoon('asks', renderAsks);
  if (id === state.selected) renderSoon('head', renderHead);
}

/* Transcript */

async function open(id) {
  const isOther = id !== state.selected;
  state.selected = id;
  Object.assign(state, { events: [], loaded: false, more: false });
  renderSoon('live', renderLive);
  if (isOther) $('transcript').replaceChildren();
  renderTree(); renderHead(); renderAsks();
  try {
    const page = await readPage(id, null);
    if (state.selected !== id) return;
    const arrived = state.events.filter((event) => !page.events.some((known) => known.id === event.id));
    state.events = [...page.events, ...arrived];
    state.more = page.more;
    state.loaded = true;
    renderTranscript();
    toEnd();
  } catch (error) {
    say(error.message);
  }
}

async function readPage(task, before) {
  return (await post(path('/queries'), { query: 'page', task, before, count: PAGE })).data;
}

$('earlier').addEventListener('click', async () => {
  const page = await readPage(state.selected, state.events[0].id);
  const scroll = $('scroll'), bottom = scroll.scrollHeight - scroll.scrollTop;
  state.events = [...page.events, ...state.events];
  state.more = page.more;
  renderTranscript();
  scroll.scrollTop = scroll.scrollHeight - bottom;
});

function onLogged(task, event) {
  const turn = live(task);
  if (event.type === 'ask_answered') answeredElsewhere(event.body);
  if (event.type === 'assistant_text') turn.text = '';
  if (event.type === 'thinking') turn.thinking = '';
  if (event.type === 'tool_call') turn.call = null;
  if (['turn_ended', 'run_started', 'run_ended'].includes(event.type)) state.lives.delete(task);
  if (task !== state.selected) return;
  renderSoon('live', renderLive);
  if (state.events.some((known) => known.id === event.id)) return;
  state.events.push(event);
  if (event.type === 'message') state.unsent = state.unsent.filter((sent) => sent.id !== event.body.id);
  if (!state.loaded) return;
  const follows = isAtEnd();
  if (event.type === 'tool_result' || event.type === 'head_moved') renderTranscript();
  else $('transcript').append(...rendered(event));
  if (follows) toEnd();
}

// Says who answered a question that was open here. A card whose answer was sent from here is disabled.
function answeredElsewhere({ id, answer }) {
  const card = $('asks').querySelector(`[data-ask="${id}"]`);
  if (answer.client && card && !card.querySelector(':disabled')) say(`Answered by ${answer.client}: ${answer.text}`);
}

// What the agent of a task has streamed since its last saved event.
function live(task) {
  if (!state.lives.has(task)) state.lives.set(task, { text: '', thinking: '', call: null });
  return state.lives.get(task);
}

function onLive(task, update) {
  const turn = live(task);
  switch (update.type) {
    case 'text_delta': turn.text = (turn.text + update.text).slice(-MAX_LIVE); break;
    case 'thinking_delta': turn.thinking = (turn.thinking + update.text).slice(-MAX_LIVE); break;
    case 'call_delta': turn.call = update.name; break;
    case 'discarded': state.lives.delete(task); break;
    default: return;
  }
  if (task === state.selected) renderSoon('live', renderLive);
}

function renderLive() {
  const follows = isAtEnd(), { text, thinking, call } = live(state.selected), parts = [];
  if (thinking && !text && !call) parts.push(el('p', { className: 'line' }, 'Thinking… ', thinking.slice(-160).replace(/\s+/g, ' ')));
  if (text) {
    const said = markdown(text);
    (said.lastElementChild ?? said).append(el('span', { className: 'caret' }));
    parts.push(said);
  }
  if (call) parts.push(el('p', { className: 'line' }, `Calling ${call}…`));
  $('live').replaceChildren(...parts);
  if (follows) toEnd();
}

function renderTranscript() {
  $('earlier').hidden = !state.more;
  const parts = state.events.flatMap(rendered);
  parts.push(...state.unsent.filter((sent) => sent.task === state.selected).map((sent) => sent.node));
  $('transcript').replaceChildren(...(parts.length ? parts : [el('p', { className: 'empty' }, 'Nothing has happened here yet. Send a message to begin.')]));
}

function rendered(event) {
  const part = render(event.type, event.body);
  $('transcript').querySelector('.empty')?.remove();
  if (part) part.dataset.event = event.type;
  return part ? [part] : [];
}

const line = (text, kind = '') => el('p', { className: `line ${kind}` }, text);

function render(type, body) {
  switch (type) {
    case 'message': return message(body);
    case 'assistant_text': return markdown(body.text);
    case 'thinking': return body.text ? el('details', { className: 'thought' }, el('summary', {}, 'Thought'), el('div', {}, body.text)) : null;
    case 'tool_call': return call(body);
    case 'ask_raised': return line(`Asked: ${body.question}`, 'ask');
    case 'ask_answered': return line(`Answered: ${body.answer.text}`);
    case 'ask_withdrawn': return line(`The question was withdrawn: ${body.reason}`);
    case 'error': return line(body.message, 'bad');
    case 'compact_marker': return line('The conversation was summarised.');
    case 'head_moved': return line('The conversation was rewound.');
    case 'run_ended': return ended(body);
    case 'work': return line(work(body));
    default: return null;
  }
}

function message(body) {
  switch (body.from.source) {
    case 'user': return el('div', { className: 'me' }, body.body);
    case 'begin': case 'begin_fork': case 'continue': case 'work_context': case 'compact': return null;
    default: {
      const who = body.from.title ?? body.from.name ?? body.from.source.replaceAll('_', ' ');
      return el('div', { className: 'from' }, el('span', { className: 'who' }, who), body.body);
    }
  }
}

function call(body) {
  const result = state.events.find((event) => event.type === 'tool_result' && event.body.call === body.call)?.body;
  const input = body.input ?? {};
  const gist = input.command ?? input.path ?? input.file_path ?? input.pattern ?? input.title ?? input.question ?? '';
  const summary = el('summary', {}, el('b', {}, body.name), ` ${String(gist).split('\n')[0]} `, result?.is_error ? el('span', { className: 'bad' }, 'failed') : result ? '' : '…');
  const content = result && (result.content.text ?? `${result.content.bytes} bytes of output`);
  return el('details', {}, summary, el('pre', {}, JSON.stringify(input, null, 2)), content ? el('pre', {}, content) : '');
}

function ended(body) {
  const how = body.exit === 'done_passed' ? ['Passed', 'good'] : body.exit === 'done_failed' ? ['Failed', 'bad'] : null;
  return how && line(`${how[0]}${body.result ? `: ${body.result}` : ''}`, how[1]);
}

function work(body) {
  switch (body.what) {
    case 'verified': return `Checked with ${body.receipt.command}: ${body.receipt.exit === 0 ? 'passed' : 'failed'}`;
    case 'landed': return `Merged into ${body.landing.target}`;
    case 'landing_undone': return 'The merge was undone';
    default: return `Work: ${body.what.replaceAll('_', ' ')}`;
  }
}

/* A small part of Markdown, as elements. */

function markdown(text) {
  const out = el('div', { className: 'say' });
  const blocks = text.split(/^```.*$/m);
  blocks.forEach((block, at) => {
    if (at % 2) return out.append(el('pre', {}, el('code', {}, block.replace(/^\n|\n$/g, ''))));
    for (const part of block.split(/\n\s*\n/)) {
      const lines = part.split('\n').filter((line) => line.trim());
      if (!lines.length) continue;
      const heading = lines.length === 1 && lines[0].match(/^#{1,6} (.*)/);
      if (heading) out.append(el('h3', {}, ...inline(heading[1])));
      else if (lines.every((line) => /^\s*([-*]|\d+\.) /.test(line))) {
        const list = /^\s*\d/.test(lines[0]) ? 'ol' : 'ul';
        out.append(el(list, {}, ...lines.map((line) => el('li', {}, ...inline(line.replace(/^\s*([-*]|\d+\.) /, ''))))));
      } else out.append(el('p', {}, ...inline(lines.join('\n'))));
    }
  });
  return out;
}

function inline(text) {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*)/).filter(Boolean).map((part) =>
    part.startsWith('`') && part.length > 2 ? el('code', {}, part.slice(1, -1))
    : part.startsWith('**') && part.length > 4 ? el('strong', {}, part.slice(2, -2)) : part);
}

/* Tree and head */

const WORKING = ['thinking', 'streaming', 'tool', 'retrying', 'compacting'];

function mark(task) {
  if (task.asks?.length) return ['?', 'ask', 'needs you'];
  if (WORKING.includes(task.activity)) return ['●', 'working', 'working'];
  return {
    passed: ['✓', 'passed', 'passed'], failed: ['✗', 'failed', 'failed'], closed: ['–', '', 'closed'],
    draft: ['◌', '', 'draft'], pending: ['○', '', 'pending'],
  }[task.node.status] ?? ['○', '', 'idle'];
}

function rows() {
  const found = [];
  const walk = (id, depth) => {
    const task = state.tasks.get(id);
    if (!task) return;
    found.push([task, depth]);
    (task.node.children ?? []).forEach((child) => walk(child, depth + 1));
  };
  walk(state.root, 0);
  return found;
}

function renderTree() {
  const hadFocus = $('tree').contains(document.activeElement);
  const items = rows().map(([task, depth]) => {
    const [glyph, kind, words] = mark(task), id = task.node.id, isSelected = id === state.selected;
    return el('li', {
      role: 'treeitem', className: `d${Math.min(depth, 5)}`, tabIndex: isSelected ? 0 : -1, 'aria-selected': String(isSelected),
      'aria-level': String(depth + 1), 'aria-label': `${task.node.title}, ${words}`, on: { click: () => choose(id) }, 'data-task': id,
    }, el('span', { className: `mark ${kind}`, 'aria-hidden': 'true' }, glyph), el('span', { className: 'name' }, task.node.title),
    el('span', { className: `note ${kind === 'ask' ? 'ask' : ''}` }, task.asks?.length ? 'needs you' : money(task)));
  });
  // A row that is there already stays, so that a click on it is not lost.
  const old = new Map([...$('tree').children].map((item) => [item.dataset.task, item]));
  $('tree').replaceChildren(...items.map((item) => {
    const known = old.get(item.dataset.task);
    if (!known) return item;
    for (const name of ['class', 'aria-selected', 'aria-level', 'aria-label']) known.setAttribute(name, item.getAttribute(name));
    known.tabIndex = item.tabIndex;
    const isSame = known.childNodes.length === item.childNodes.length && [...known.childNodes].every((node, at) => node.isEqualNode(item.childNodes[at]));
    if (!isSame) known.replaceChildren(...item.childNodes);
    return known;
  }));
  if (hadFocus) $('tree').querySelector('[aria-selected=true]')?.focus();
  const all = [...state.tasks.values()], working = all.filter((task) => WORKING.includes(task.activity)).length;
  const clients = state.clients ?? [], here = clients.length > 1 ? `, ${clients.length} attached` : '';
  $('totals').textContent = `${all.length} ${all.length === 1 ? 'task' : 'tasks'}, ${working} working${here}`;
  $('totals').title = clients.map((client) => `${client.name} (${client.kind})`).join(', ');
}

function money(task) {
  const micros = Object.values(task.usage?.by_model ?? {}).reduce((sum, totals) => sum + totals.cost, 0);
  return micros ? `$${(micros / 1e6).toFixed(2)}` : '';
}

function renderHead() {
  const task = state.tasks.get(state.selected);
  if (!task) return;
  const [, , words] = mark(task);
  $('task-title').textContent = task.node.title;
  const number = task.node.number && `#${task.node.number}`;
  $('task-facts').textContent = [number, words, task.model, task.node.branch, task.diff && `+${task.diff.added} −${task.diff.removed}`].filter(Boolean).join(' · ');
  $('interrupt').hidden = !(may('run') && WORKING.includes(task.activity));
  $('text').placeholder = may('send') ? `Message ${task.node.title}` : 'This token cannot send messages';
  $('text').disabled = $('send').disabled = $('mode').disabled = !may('send');
  document.title = `${openAsks().length ? `(${openAsks().length}) ` : ''}${task.node.title} · Matrix`;
}

function choose(id) {
  document.body.dataset.view = 'task';
  $('to-tree').setAttribute('aria-expanded', 'false');
  if (id !== state.selected) open(id);
}

$('interrupt').addEventListener('click', () => act(path('/commands'), { command: 'interrupt', task: state.selected }));

/* Asks */

function openAsks() {
  return rows().flatMap(([task]) => (task.asks ?? []).map((ask) => ({ task, ask })));
}

function renderAsks() {
  const all = openAsks(), here = all.filter(({ task }) => task.node.id === state.selected);
  $('to-asks').hidden = all.length === 0;
  $('to-asks').textContent = `${all.length} ${all.length === 1 ? 'question' : 'questions'}`;
  const old = new Map([...$('asks').children].map((card) => [card.dataset.ask, card]));
  // A card stays as it is, so that an answer that is being typed is kept.
  $('asks').replaceChildren(...here.map(({ ask }) => old.get(ask.id) ?? card(ask)));
}

function card(ask) {
  const answer = async (body, own) => {
    node.querySelectorAll('button, input').forEach((field) => { field.disabled = true; });
    const problem = await act(`/v1/asks/${ask.id}`, body);
    if (problem) node.querySelectorAll('button, input').forEach((field) => { field.disabled = false; });
    else if (own) $('text').focus();
  };
  const choices = (ask.choices ?? []).map((choice, at) =>
    el('button', { type: 'button', disabled: !may('answer'), on: { click: () => answer({ choice: choice.id }) }, 'data-choice': choice.id },
      at < 9 ? el('kbd', { 'aria-hidden': 'true' }, String(at + 1)) : '', choice.label));
  const field = el('input', { 'aria-label': 'Your own answer', placeholder: 'Your own answer', disabled: !may('answer') });
  const own = el('form', { className: 'own', on: { submit: (event) => { event.preventDefault(); if (field.value.trim()) answer({ text: field.value.trim() }, true); } } },
    field, el('button', { type: 'submit', disabled: !may('answer') }, 'Answer'));
  const node = el('article', { className: 'ask-card', 'data-ask': ask.id, 'aria-label': ask.question }, el('span', { className: 'where' }, 'Needs you'),
    el('h3', {}, ask.question), ask.detail ? el('p', { className: 'detail' }, ask.detail) : '', el('div', { className: 'choices' }, ...choices), own);
  return node;
}

function nextAsk() {
  const all = openAsks();
  if (!all.length) return;
  const here = all.findIndex(({ task }) => task.node.id === state.selected);
  const inside = document.activeElement?.closest('.ask-card');
  const next = here < 0 || inside ? all[(here + 1) % all.length] : all[here];
  choose(next.task.node.id);
  setTimeout(() => ($('asks').querySelector(`[data-ask="${next.ask.id}"] button, [data-ask="${next.ask.id}"] input`))?.focus(), 50);
}

$('to-asks').addEventListener('click', nextAsk);

/* Composer */

$('composer').addEventListener('submit', async (event) => {
  event.preventDefault();
  const text = $('text').value.trim(), task = state.selected;
  if (!text) return;
  $('text').value = '';
  grow();
  const sent = { task, node: el('div', { className: 'me unsent' }, text) };
  state.unsent.push(sent);
  $('transcript').querySelector('.empty')?.remove();
  $('transcript').append(sent.node);
  toEnd();
  try {
    const answer = await change(path(`/tasks/${task}/messages`), { text, mode: $('mode').value });
    sent.id = answer.message;
    say('');
  } catch (error) {
    say(words(error));
    if (!$('text').value) $('text').value = text;
  }
  // The stored message takes its place.
  sent.node.remove();
  state.unsent = state.unsent.filter((other) => other !== sent);
});

async function act(url, body) {
  try {
    await change(url, body);
    say('');
    return null;
  } catch (error) {
    say(words(error));
    return error;
  }
}

const words = (error) => [error.message, ...(error.fault?.hints ?? [])].join('. ');

function say(text) {
  $('problem').textContent = text;
}

function grow() {
  $('text').style.height = 'auto';
  $('text').style.height = `${Math.min($('text').scrollHeight + 2, innerHeight * 0.4)}px`;
}

$('text').addEventListener('input', grow);
$('text').addEventListener('keydown', (event) => {
  // A phone's Enter makes a new line; its Send button sends.
  const isTouch = matchMedia('(pointer: coarse)').matches;
  if (event.key === 'Enter' && !event.shiftKey && !event.isComposing && !isTouch) {
    event.preventDefault();
    $('composer').requestSubmit();
  }
});

/* Scrolling */

const isAtEnd = () => $('scroll').scrollHeight - $('scroll').scrollTop - $('scroll').clientHeight < 80;

function toEnd() {
  $('scroll').scrollTop = $('scroll').scrollHeight;
  $('to-end').hidden = true;
}

$('scroll').addEventListener('scroll', () => { $('to-end').hidden = isAtEnd(); }, { passive: true });
$('to-end').addEventListener('click', toEnd);

const planned = new Map();
function renderSoon(name, run) {
  if (planned.has(name)) return;
  // A hidden tab draws no frames.
  const later = document.hidden ? (then) => setTimeout(then, 200) : requestAnimationFrame;
  planned.set(name, later(() => { planned.delete(name); run(); }));
}

/* Keys */

function move(by) {
  const ids = rows().map(([task]) => task.node.id);
  const next = ids[Math.max(0, Math.min(ids.length - 1, ids.indexOf(state.selected) + by))];
  if (next && next !== state.selected) open(next);
}

$('tree').addEventListener('keydown', (event) => {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (by) { event.preventDefault(); move(by); }
  if (event.key === 'Enter') choose(state.selected);
});

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || $('app').hidden || $('help').open) return;
  if (event.target.matches('input, textarea, select')) {
    if (event.key === 'Escape') event.target.blur();
    return;
  }
  const inAsk = event.target.closest('.ask-card') ?? $('asks').firstElementChild;
  if (/^[1-9]$/.test(event.key) && inAsk) return inAsk.querySelectorAll('[data-choice]')[event.key - 1]?.click();
  const run = {
    j: () => move(1), k: () => move(-1), c: () => $('text').focus(), a: nextAsk, G: toEnd,
    t: () => { showTree(); $('tree').querySelector('[aria-selected=true]')?.focus(); }, '?': () => $('help').showModal(),
  }[event.key];
  if (run) { event.preventDefault(); run(); }
});

function showTree() {
  document.body.dataset.view = document.body.dataset.view === 'tree' ? 'task' : 'tree';
  $('to-tree').setAttribute('aria-expanded', String(document.body.dataset.view === 'tree'));
}

$('to-tree').addEventListener('click', showTree);
$('help-button').addEventListener('click', () => $('help').showModal());

/* Start */

async function findProject() {
  const { projects } = await request('/v1/projects');
  if (!projects.length) throw new Error('No project is open that this token reaches.');
  const wanted = localStorage.getItem(PROJECT);
  state.project = (projects.find((project) => project.id === wanted) ?? projects[0]).id;
  $('project').replaceChildren(...projects.map((project) => el('option', { value: project.id, selected: project.id === state.project }, project.name)));
  $('project').hidden = projects.length < 2;
}

$('project').addEventListener('change', () => {
  localStorage.setItem(PROJECT, $('project').value);
  location.reload();
});

async function start() {
  takeLoginFromAddress();
  if (!localStorage.getItem(LOGIN)) return showLogin();
  for (let wait = 300; ; wait = Math.min(wait * 2, 5000)) {
    try {
      const me = await request('/v1/me');
      state.scopes = me.scopes;
      $('status').textContent = me.name === 'start' ? '' : me.name;
      await findProject();
      break;
    } catch (error) {
      if (error instanceof Refused && error.status < 500) return showLogin(error.status === 401 ? '' : error.message);
      if (!(error instanceof Refused) && !(error instanceof TypeError)) return showLogin(error.message);
      $('offline').hidden = false;
      await pause(wait);
    }
  }
  $('offline').hidden = true;
  $('app').hidden = false;
  if (matchMedia('(pointer: fine)').matches) $('text').focus();
  follow();
}

start();
