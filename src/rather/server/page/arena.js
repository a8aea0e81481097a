// The leaderboard: everybody's ranking and the visitor's, side by side.

import { latest, load } from './api.js';
import { $ } from './dom.js';
import { about, sorry } from './frame.js';
import { draw } from './ranking.js';
import { collected, count } from './words.js';

const MOST = 500; // rows the server gives at once

function board(who, remark) {
  const table = $(who), note = $(`${who}-note`), more = $(`${who}-more`);
  const fresh = latest();
  let limit = 50;
  const show = () => load(`/api/ranking?who=${who}&limit=${limit}`, {
    signal: fresh(), note,
    draw(data) {
      draw(table, data);
      remark(data).then((text) => { note.textContent = text; });
      more.hidden = data.rows.length < limit || limit >= Math.min(data.of, MOST);
    },
  });
  more.addEventListener('click', () => { limit = Math.min(MOST, 4 * limit); show(); });
  show();
}

const none = 'Nothing is known yet.';
const news = about();
const alone = news.then(({ collecting }) => Boolean(collecting), () => false);

board('everyone', async ({ rows }) => (rows.length ? 'What the typical person is expected to like.' : none));
board('me', async ({ rows, answered }) => {
  if (!rows.length) return none;
  if (!answered) return 'You have not answered yet: this is what is expected of anyone.';
  return `From ${count(answered, 'answer')} of yours${await alone ? ' alone' : ', and what everybody said'}.`;
});
news
  .then(({ collecting: so }) => { if (so) $('collecting').textContent = collected(so); })
  .catch((error) => { $('collecting').textContent = sorry(error); });
