import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import go from 'highlight.js/lib/languages/go';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import python from 'highlight.js/lib/languages/python';
import sql from 'highlight.js/lib/languages/sql';

for (const [name, language] of Object.entries({ bash, go, javascript, json, python, sql }))
  hljs.registerLanguage(name, language);
hljs.registerAliases(['sh', 'shell'], { languageName: 'bash' });
hljs.registerAliases(['js', 'ts', 'typescript'], { languageName: 'javascript' });

/** Highlights code. It returns undefined for an unknown language. */
export const highlight = (code: string, language: string): string | undefined =>
  hljs.getLanguage(language) ? hljs.highlight(code, { language }).value : undefined;
