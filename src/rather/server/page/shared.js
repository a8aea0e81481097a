// A ranking somebody shared, to read.

import { latest, load } from './api.js';
import { $ } from './dom.js';
import { about, sorry } from './frame.js';
import { draw } from './ranking.js';
import { count } from './words.js';

const token = location.pathname.split('/').filter(Boolean).pop();

load(`/api/shared/${encodeURIComponent(decodeURIComponent(token))}`, {
  signal: latest()(), note: $('note'),
  draw(data) {
    draw($('list'), data);
    $('note').textContent = data.rows.length
      ? `From ${count(data.answered, 'answer')}; the first ${data.rows.length} of ${data.of}.`
      : 'There is nothing in it yet.';
  },
});
about().catch((error) => { $('known').textContent = sorry(error); });
