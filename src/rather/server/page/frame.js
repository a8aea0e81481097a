// What every page shows around its own matter: the name of what is ranked here, and how much is known.

import { Refused, talk } from './api.js';
import { $ } from './dom.js';
import { cut } from './items.js';
import { count, figure } from './words.js';

export async function about(signal) {
  const news = await talk('/api/about', { signal, tries: 6 });
  const heading = cut(news.title, 80);
  $('brand').textContent = heading;
  document.title = `${document.title.split(' · ')[0]} · ${heading}`;
  const said = news.answers ? `${count(news.answers, 'answer')} of ${count(news.people, 'person', 'people')}`
    : 'nobody has answered yet';
  $('known').textContent = `${figure(news.items)} items; ${said}.`;
  return news;
}

export const sorry = (error) =>
  (error instanceof Refused ? error.message : 'The server cannot be reached. Please reload the page in a while.');
