// Ask me: one question at a time; an answer counts only once the server has it, and is sent until then.

import { Refused, latest, load, pause, talk } from './api.js';
import { $, hidden } from './dom.js';
import { about, sorry } from './frame.js';
import { keys, swipe } from './gestures.js';
import { card, name, said } from './items.js';
import { answers, crowd, difference, later, panel, sentence, tastes, whatif } from './panels.js';
import { draw } from './ranking.js';
import { lasting, passing } from './store.js';
import { collected, count, percent, sureness } from './words.js';

const BUTTONS = {
  left: 'left', right: 'right', tie: 'tie',
  'unseen-left': 'unseen left', 'unseen-right': 'unseen right', 'unseen-both': 'unseen both',
};
const SURPRISE = 0.15; // an answer less likely than that is asked after
const MOST = 500; // rows the server gives at once
const COLLECTING = 10_000; // milliseconds between looks at how much is collected

let question = null;
let answered = 0;
let busy = false;
let collecting = null;
let given = []; // tokens answered on this page, for undo
let rows = 20;

// How long the question has been looked at: time in which the page was hidden does not count.
const watch = {
  spent: 0, since: null,
  start() { this.spent = 0; this.since = document.hidden ? null : performance.now(); },
  turn() {
    if (this.since !== null) this.spent += performance.now() - this.since;
    this.since = document.hidden ? null : performance.now();
  },
  seconds() { this.turn(); return Math.round(this.spent) / 1000; },
};
document.addEventListener('visibilitychange', () => watch.turn());

function say(text, { aloud = '', trouble = false } = {}) {
  $('status').replaceChildren(text, hidden(aloud));
  $('status').classList.toggle('trouble', trouble);
}

function setBusy(now, reply = '') {
  busy = now;
  $('ask').setAttribute('aria-busy', now);
  $('cards').dataset.chosen = reply;
  for (const id of [...Object.keys(BUTTONS), 'whatif']) {
    $(id).setAttribute('aria-disabled', now || !question); // a button that is `disabled` would lose the focus
  }
  $('undo').setAttribute('aria-disabled', now || answered === 0);
}

function show(news, words = '') {
  ({ question, answered } = news);
  $('answered').textContent = answered;
  $('answered-word').textContent = answered === 1 ? 'answer' : 'answers';
  $('changes').replaceChildren();
  dropWhatif();
  $('asking').hidden = !question;
  $('none').hidden = Boolean(question);
  if (question) {
    card($('left'), question.left);
    card($('right'), question.right);
    $('unseen-left').title = `Haven’t seen ${said(name(question.left))}`;
    $('unseen-right').title = `Haven’t seen ${said(name(question.right))}`;
    say(words, { aloud: ` Which would you rather: ${said(name(question.left))}, or ${said(name(question.right))}?` });
  } else {
    $('none').textContent = news.reason ?? 'There is nothing left to ask.';
    say(words);
  }
  setBusy(false);
  watch.start();
  refresh();
}

// Says what is going on while something is sent for as long as it takes.
async function send(path, body, slow, failing) {
  say('');
  const timer = setTimeout(() => say(slow), 500);
  try {
    return await talk(path, {
      body,
      tell(seconds, error) {
        clearTimeout(timer);
        const why = error instanceof Refused ? error.message : 'The server cannot be reached.';
        say(`${failing}, trying again in ${count(seconds, 'second')}. ${why}`, { trouble: true });
      },
    });
  } finally {
    clearTimeout(timer);
  }
}

async function next(words) {
  setBusy(true);
  try {
    show(await send('/api/question', {}, 'Fetching a question…', 'No question yet'), words);
  } catch (error) {
    say(sorry(error), { trouble: true });
  }
}

// The answer is kept until it is acknowledged, over a reload as well; what is kept for a token is what is sent for it.
async function deliver(answer) {
  lasting.set('answer', answer);
  setBusy(true, answer.reply);
  let news;
  try {
    news = await send('/api/answer', answer, 'Saving…', 'Not saved yet');
  } catch (error) {
    return next(`${error.message} Here is what is to be asked now.`);
  } finally {
    if (lasting.get('answer')?.token === answer.token) lasting.set('answer', null); // another tab may keep its own
  }
  given.push(answer.token);
  return show(news, 'Saved.');
}

function reply(what) {
  if (busy || !question) return;
  const kept = lasting.get('answer');
  deliver(kept?.token === question.token ? kept : { token: question.token, reply: what, seconds: watch.seconds() });
}

async function undo(token) {
  if (busy || answered === 0) return;
  setBusy(true);
  try {
    const last = token ?? given[given.length - 1] ??
      (await send('/api/answers', undefined, 'Looking for your last answer…', 'Not undone yet')).answers[0]?.token;
    if (!last) return next('There is nothing to undo.');
    const news = await send('/api/undo', { token: last }, 'Undoing…', 'Not undone yet');
    given = given.filter((one) => one !== last);
    if ($('surprise').dataset.token === last) $('surprise').hidden = true; // there is nothing to ask after any more
    show(news, 'Undone.');
  } catch (error) {
    next(error.message);
  }
  if (token) $('heading').focus(); // the button that was pressed is gone
}

const freshWhatif = latest();

function dropWhatif() {
  freshWhatif();
  $('whatif').setAttribute('aria-expanded', 'false');
  $('whatif-note').replaceChildren();
}

function askWhatif() {
  if (busy || !question) return;
  if ($('whatif').getAttribute('aria-expanded') === 'true') {
    $('changes').replaceChildren();
    dropWhatif();
    return;
  }
  $('whatif').setAttribute('aria-expanded', 'true');
  $('whatif-note').textContent = 'Working it out…';
  load('/api/whatif', {
    signal: freshWhatif(), note: $('whatif-note'),
    draw(data) { if (data.token === question.token) whatif($('changes'), { ...data, question }); else dropWhatif(); },
  });
}

function surprise({ answers: all }) {
  const meant = passing.get('meant', []);
  const odd = all
    .filter(({ token, probability }) => probability !== null && probability < SURPRISE && !meant.includes(token))
    .sort((a, b) => a.probability - b.probability)[0];
  $('surprise').hidden = !odd;
  if (!odd || $('surprise').dataset.token === odd.token) return;
  $('surprise').dataset.token = odd.token;
  $('surprising').replaceChildren(
    ...sentence(odd), `: going by your other answers, that had a chance of ${percent(odd.probability)}.`);
}

function meter(share, text, goal = 1) {
  const bar = $('bar');
  bar.setAttribute('aria-valuenow', Math.round(100 * share));
  bar.setAttribute('aria-valuetext', text);
  bar.style.setProperty('--share', share);
  bar.style.setProperty('--goal', goal);
  $('sureness').textContent = text;
}

function list(data) {
  draw($('list'), data);
  $('more').hidden = data.rows.length < rows || rows >= Math.min(data.of, MOST);
  $('list-note').textContent = data.rows.length ? '' : 'Your list appears here.';
  if (data.settled) meter(data.settled.share, sureness(data.settled), data.settled.sure);
  else meter(0, 'Not known yet.');
}

const opened = [
  panel('difference', '/api/difference?limit=10', (place, data) => (collecting ? later : difference)(place, data)),
  panel('map', '/api/map', tastes),
  panel('answers', '/api/answers', (place, data) => { answers(place, data, undo); surprise(data); }),
];
panel('crowd', '/api/crowd?limit=8', crowd); // the crowd does not change with one answer

const fresh = latest();

// Everything around the question follows it and never holds it up; a newer answer drops what is still under way.
async function refresh() {
  const signal = fresh();
  try {
    await pause(120, signal);
  } catch {
    return;
  }
  if (collecting || answered % 10 === 1) learn(signal).catch(() => {}); // how much is known follows now and then
  await load(`/api/ranking?who=me&limit=${rows}`, { signal, note: $('list-note'), draw: list });
  if (signal.aborted) return;
  opened.forEach((again) => again());
  if (!$('answers').open) talk('/api/answers', { signal, tries: 2 }).then(surprise, () => {}); // a mere courtesy
}

async function learn(signal) {
  const before = collecting;
  ({ collecting } = await about(signal));
  $('collecting').textContent = collecting ? collected(collecting) : '';
  if (before && !collecting) refresh(); // the first model is there
}

// Others answer too, and a fit takes its time: what is said while it collects must not wait for one's own next answer.
setInterval(() => { if (collecting && !document.hidden) learn().catch(() => {}); }, COLLECTING);

async function share() {
  $('share').setAttribute('aria-disabled', true);
  try {
    const tell = () => { $('shared-note').textContent = 'Not shared yet, trying again.'; };
    const { path } = await talk('/api/share', { body: {}, tries: 4, tell });
    const link = new URL(path, location.href).href;
    $('shared-link').href = link;
    $('shared-link').textContent = link;
    const copied = await navigator.clipboard?.writeText(link).then(() => true, () => false);
    $('shared-note').textContent = copied ? 'Copied. Whoever has this link sees your list, not your answers:'
      : 'Whoever has this link sees your list, not your answers:';
  } catch (error) {
    $('shared-note').textContent = sorry(error);
  }
  $('share').setAttribute('aria-disabled', false);
}

for (const [id, what] of Object.entries(BUTTONS)) {
  $(id).addEventListener('click', (event) => { if (event.detail < 2) reply(what); }); // a double click is one answer
}
$('undo').addEventListener('click', () => undo());
$('whatif').addEventListener('click', askWhatif);
$('share').addEventListener('click', share);
$('more').addEventListener('click', () => { rows = Math.min(MOST, 4 * rows); refresh(); });
$('meant').addEventListener('click', () => {
  passing.set('meant', [...passing.get('meant', []), $('surprise').dataset.token]);
  $('surprise').hidden = true;
  $('heading').focus();
});
$('not-meant').addEventListener('click', () => undo($('surprise').dataset.token));
const act = (what) => (what === 'undo' ? undo() : reply(what));
keys($('cards'), $('keys'), act);
swipe($('cards'), act);

learn().catch(() => {}); // the question says it if the server cannot be reached
const kept = lasting.get('answer');
if (kept) deliver(kept);
else next('');
