import { crc32 } from 'node:zlib';

// Files for the tests of the reader.

/**
 * A PDF file with lines of text on each page: [['first line', …], …]. Chinese lines use a font and an encoding that the
 * file does not contain.
 */
export function pdfFile(pages) {
  const hex = (s) => [...s].map((c) => c.charCodeAt(0).toString(16).padStart(4, '0')).join('');
  const show = (s) =>
    /[^\0-\xff]/.test(s) ? `/F2 12 Tf <${hex(s)}> Tj T*` : `/F1 12 Tf (${s.replace(/[\\()]/g, '\\$&')}) Tj T*`;
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${pages.map((_, i) => `${7 + 2 * i} 0 R`).join(' ')}] /Count ${pages.length} >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>',
    '<< /Type /Font /Subtype /Type0 /BaseFont /SimSun /Encoding /UniGB-UCS2-H /DescendantFonts [5 0 R] >>',
    '<< /Type /Font /Subtype /CIDFontType2 /BaseFont /SimSun /FontDescriptor 6 0 R ' +
      '/CIDSystemInfo << /Registry (Adobe) /Ordering (GB1) /Supplement 2 >> >>',
    '<< /Type /FontDescriptor /FontName /SimSun /Flags 4 /FontBBox [0 -200 1000 900] /ItalicAngle 0 ' +
      '/Ascent 859 /Descent -141 /CapHeight 683 /StemV 80 >>',
  ];
  pages.forEach((lines, i) => {
    const program = `BT 16 TL 72 720 Td ${lines.map(show).join(' ')} ET`;
    objects.push(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents ${8 + 2 * i} 0 R ` +
        '/Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> >>',
      `<< /Length ${program.length} >>\nstream\n${program}\nendstream`,
    );
  });
  let file = '%PDF-1.4\n';
  const offsets = objects.map((o, i) => {
    const at = file.length;
    file += `${i + 1} 0 obj\n${o}\nendobj\n`;
    return at;
  });
  const table = file.length;
  file += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n`;
  for (const at of offsets) file += `${String(at).padStart(10, '0')} 00000 n \n`;
  return `${file}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${table}\n%%EOF\n`;
}

const survey = [
  ['The Survey of the Harbour Basin', 'A report for the port authority, 1931.'],
  ...Array.from({ length: 4 }, (_, i) => [
    `${i + 2}. Section ${i + 2}`,
    'The depth of the channel was measured from the pier to the light',
    'vessel, station by station.',
    '',
    'The soundings were repeated in the spring.',
  ]),
];
survey[3].push(
  '',
  'The dredger Cormorant removed ninety thousand tons of gravel from the',
  'northern approach before the winter storms.',
);

/** A report of five pages. Page 4 mentions the dredger Cormorant. */
export const surveyPdf = pdfFile(survey);

/** A web page with headings, lists and a table. */
export const guideHtml = `<!doctype html><html><head><title>Guide to the tide gauge</title></head><body><article>
<h1>Guide to the tide gauge</h1>
<p>The gauge at the eastern mole records the level of the water every six minutes. It was built by the harbour
office and is read twice a day.</p>
<h2>Reading the gauge</h2>
<p>Read the scale at eye level. Write the level and the time into the log.</p>
<ol><li>Open the well.</li><li>Wait until the float rests.</li><li>Read the scale.</li></ol>
<h2>Levels</h2>
<p>The marigraph of the gauge reports these levels.</p>
<table><tr><th>Level</th><th>Height</th></tr><tr><td>Mean high water</td><td>4.12 m</td></tr>
<tr><td>Mean low water</td><td>0.87 m</td></tr></table>
<ul><li>Heights refer to the chart datum.</li><li>Storm surges are <b>not</b> included.</li></ul>
</article></body></html>`;

/** Creates an agent with files in its library and returns it once they are searchable. */
export async function agentWithFiles(page, name, files) {
  return page.evaluate(
    async ([agentName, list]) => {
      const call = async (method, path, body) => {
        const json = body && !(body instanceof FormData);
        const r = await fetch(path, {
          method,
          headers: json ? { 'Content-Type': 'application/json' } : {},
          body: json ? JSON.stringify(body) : body,
        });
        if (!r.ok) throw new Error(`${method} ${path}: ${r.status} ${await r.text()}`);
        return r.json();
      };
      const { agent } = await call('POST', '/api/agents', { name: agentName });
      const { sources } = await call('GET', `/api/agents/${agent.id}/sources`);
      const library = `/api/agents/${agent.id}/sources/${sources[0].id}`;
      const form = new FormData();
      for (const [file, text] of Object.entries(list)) form.append('file', new File([text], file));
      await call('POST', `${library}/files`, form);
      for (;;) {
        const { files: read } = await call('GET', `${library}/files`);
        const failed = read.find((f) => f.error);
        if (failed) throw new Error(`${failed.name}: ${failed.error}`);
        const found = await call('POST', `/api/agents/${agent.id}/search`, { query: 'harbour gauge basin' });
        if (read.length === Object.keys(list).length && found.results.length >= read.length) return agent;
        await new Promise((done) => setTimeout(done, 100));
      }
    },
    [name, files],
  );
}

/** A zip archive of texts, without compression. */
export function zipFile(files) {
  const local = [];
  const directory = [];
  let offset = 0;
  for (const [name, text] of Object.entries(files)) {
    const [path, data] = [Buffer.from(name), Buffer.from(text)];
    const fields = Buffer.alloc(26); // version, flags, method, time, date, CRC, sizes, length of the name, of the extra
    fields.writeUInt16LE(20, 0);
    fields.writeUInt32LE(crc32(data), 10);
    fields.writeUInt32LE(data.length, 14);
    fields.writeUInt32LE(data.length, 18);
    fields.writeUInt16LE(path.length, 22);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(offset, 10);
    const entry = Buffer.concat([Buffer.from('PK\x03\x04'), fields, path, data]);
    directory.push(Buffer.from('PK\x01\x02'), Buffer.from([20, 0]), fields, place, path);
    local.push(entry);
    offset += entry.length;
  }
  const list = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(Object.keys(files).length, 4);
  end.writeUInt16LE(Object.keys(files).length, 6);
  end.writeUInt32LE(list.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...local, list, Buffer.from('PK\x05\x06'), end]);
}
