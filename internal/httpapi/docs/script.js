// The script of the API reference: the kept choice of a language, search and copying. The page works without it.
'use strict';
(() => {
  const $ = (selector) => document.querySelector(selector);
  const storageKey = 'carrel-docs-language';
  const read = () => {
    try {
      return localStorage.getItem(storageKey);
    } catch {
      return null; // storage is blocked
    }
  };

  // This script is loaded right after the radio buttons, so the examples appear in the chosen language at once.
  const languages = $('.languages');
  const kept = [...languages.elements].find((radio) => radio.value === read());
  if (kept) kept.checked = true;
  languages.addEventListener('change', (event) => {
    try {
      localStorage.setItem(storageKey, event.target.value);
    } catch {
      // The choice applies to this visit only.
    }
  });

  const input = $('#find');
  const hits = $('#hits');
  let entries;
  let found = [];
  let chosen = -1;

  /** Every operation, webhook message, schema, table row and introduction: id, title, the line below it, and all text. */
  const index = () => {
    const entry = (kind, element, title, line, text) => ({
      id: element.id,
      kind,
      title,
      line,
      text: text.replace(/\s+/g, ' '),
      name: `${element.id} ${title} ${line}`.toLowerCase(),
    });
    const out = [];
    for (const a of document.querySelectorAll('article.operation')) {
      const route = a.querySelector('.route').textContent.trim();
      out.push(entry('', a, a.querySelector('h3').textContent, route, a.querySelector('.text').textContent));
    }
    for (const a of document.querySelectorAll('article.schema')) {
      out.push(entry('Schema', a, a.querySelector('h3').textContent, '', a.querySelector('.text').textContent));
    }
    for (const row of document.querySelectorAll('.codes tr[id]')) {
      const kind = row.closest('section').querySelector('h2').textContent;
      out.push(entry(kind, row, row.cells[0].textContent, '', row.textContent));
    }
    for (const section of document.querySelectorAll('section.intro, section.tag')) {
      const own = [...section.children].filter((child) => !/^(ARTICLE|UL|TABLE)$/.test(child.tagName));
      const text = own.map((child) => child.textContent).join(' ');
      out.push(entry('Section', section, section.querySelector('h1, h2').textContent, '', text));
    }
    for (const e of out) e.lower = `${e.name} ${e.text.toLowerCase()}`;
    return out;
  };

  /** Entries with all words, those with the words in their name first. */
  const search = (query) => {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) return [];
    entries ??= index();
    const rank = (e) => {
      if (e.id.toLowerCase() === words.join('') || e.title.toLowerCase() === words.join(' ')) return 0;
      return words.every((word) => e.name.includes(word)) ? 1 : 2;
    };
    return entries
      .filter((e) => words.every((word) => e.lower.includes(word)))
      .map((e) => ({ ...e, rank: rank(e), excerpt: excerpt(e, words[0]) }))
      .sort((a, b) => a.rank - b.rank)
      .slice(0, 40);
  };

  /** The text around a word that is not in the name. */
  const excerpt = (e, word) => {
    const at = e.text.toLowerCase().indexOf(word);
    if (e.name.includes(word) || at < 0) return '';
    return `…${e.text.slice(Math.max(0, at - 30), at + 60).trim()}…`;
  };

  const choose = (n) => {
    chosen = n;
    [...hits.children].forEach((li, i) => li.setAttribute('aria-selected', String(i === n)));
    hits.children[n]?.scrollIntoView({ block: 'nearest' });
    if (n >= 0) input.setAttribute('aria-activedescendant', `hit-${n}`);
    else input.removeAttribute('aria-activedescendant');
  };

  const show = (list) => {
    found = list;
    hits.replaceChildren(
      ...list.map((e, i) => {
        const li = document.createElement('li');
        li.id = `hit-${i}`;
        li.setAttribute('role', 'option');
        const title = document.createElement('b');
        title.textContent = e.title;
        const line = document.createElement('span');
        line.textContent = [e.kind, e.line, e.excerpt].filter(Boolean).join(' · ');
        li.append(title, line);
        return li;
      }),
    );
    const asked = input.value.trim() !== '';
    hits.hidden = list.length === 0;
    input.setAttribute('aria-expanded', String(list.length > 0));
    $('#hit-count').textContent = asked ? `${list.length || 'No'} results` : '';
    $('.find').classList.toggle('none', asked && list.length === 0);
    choose(list.length > 0 ? 0 : -1);
  };

  const close = () => {
    hits.hidden = true;
    input.setAttribute('aria-expanded', 'false');
    choose(-1);
  };

  const go = (e) => {
    close();
    input.blur();
    location.hash = `#${e.id}`;
    document.getElementById(e.id).scrollIntoView(); // also if it is the current address
  };

  const startSearch = () => {
    $('.find').hidden = false;
    input.addEventListener('input', () => show(search(input.value)));
    input.addEventListener('focus', () => input.value && show(search(input.value)));
    input.addEventListener('blur', close);
    input.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') {
        close();
        input.value = '';
        input.blur();
      } else if (event.key === 'Enter' && found[chosen]) {
        go(found[chosen]);
      } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
        event.preventDefault();
        const step = event.key === 'ArrowDown' ? 1 : -1;
        if (found.length > 0) choose((chosen + step + found.length) % found.length);
      }
    });
    hits.addEventListener('mousedown', (event) => event.preventDefault()); // keeps the focus until the click
    hits.addEventListener('click', (event) => {
      const li = event.target.closest('li');
      if (li) go(found[Number(li.id.slice('hit-'.length))]);
    });
    document.addEventListener('keydown', (event) => {
      if (
        event.key !== '/' ||
        event.ctrlKey ||
        event.metaKey ||
        event.altKey ||
        event.target.closest('input[type=search]')
      )
        return;
      event.preventDefault();
      input.focus({ preventScroll: true });
      input.select();
    });
  };

  const addCopyButtons = () => {
    for (const title of document.querySelectorAll('.code-title')) {
      const button = document.createElement('button');
      button.type = 'button';
      button.className = 'copy';
      button.textContent = 'Copy';
      title.append(button);
    }
    document.addEventListener('click', async (event) => {
      const button = event.target.closest('.copy');
      if (!button) return;
      let pre = button.parentElement.nextElementSibling;
      while (pre && getComputedStyle(pre).display === 'none') pre = pre.nextElementSibling;
      await navigator.clipboard.writeText(pre.textContent);
      button.textContent = 'Copied';
      setTimeout(() => (button.textContent = 'Copy'), 2000);
    });
  };

  startSearch();
  document.addEventListener('DOMContentLoaded', addCopyButtons);
})();
