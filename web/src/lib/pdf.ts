import {
  getDocument,
  InvalidPDFException,
  PasswordException,
  PDFWorker,
  ResponseException,
  TextLayer,
  type PDFDocumentLoadingTask,
  type PDFDocumentProxy,
  type PDFPageProxy,
} from 'pdfjs-dist/legacy/build/pdf.mjs';
import workerAddress from 'pdfjs-dist/legacy/build/pdf.worker.min.mjs?url';
import { fold, type Folded } from './pdfText';

// The files that pdf.js loads for some documents: encodings of East Asian text, two symbol fonts, image decoders. Other
// fonts that a file does not contain are replaced by fonts of the system.
const dataFiles = import.meta.glob<string>(
  [
    '/node_modules/pdfjs-dist/cmaps/*.bcmap',
    '/node_modules/pdfjs-dist/standard_fonts/Foxit{Symbol,Dingbats}.pfb',
    '/node_modules/pdfjs-dist/wasm/{jbig2,openjpeg,qcms_bg}.wasm',
  ],
  { query: '?url', import: 'default', eager: true },
);
const addresses = new Map(Object.entries(dataFiles).map(([path, url]) => [path.slice(path.lastIndexOf('/') + 1), url]));

class DataFiles {
  async fetch({ filename }: { filename: string }): Promise<Uint8Array> {
    const url = addresses.get(filename);
    if (!url) throw new Error(`unknown file ${filename}`);
    const response = await fetch(url);
    if (!response.ok) throw new Error(`${filename}: ${response.status}`);
    return new Uint8Array(await response.arrayBuffer());
  }
}

type Policy = { createScriptURL: (url: string) => string };
type Policies = { createPolicy: (name: string, rules: Policy) => Policy };

// The content security policy of the page requires a named policy for the address of a worker.
const policy = (globalThis as { trustedTypes?: Policies }).trustedTypes?.createPolicy('carrel-pdf-worker', {
  createScriptURL: () => workerAddress,
});

/** Fewer, larger requests than by default, because requests are rate limited. */
const CHUNK_BYTES = 1 << 20;

/** Larger canvases are not supported by phones. */
const MAX_CANVAS_PIXELS = 16_000_000;

/** The text of a page: its items as drawn, and folded for comparisons. */
export type PageText = {
  items: string[];
  folded: Folded;
  content: Awaited<ReturnType<PDFPageProxy['getTextContent']>>;
};

/** Why a file is not shown. */
export type Failure = 'missing' | 'password' | 'damaged' | 'unreachable';

export class PdfError extends Error {
  constructor(readonly reason: Failure) {
    super(reason);
  }
}

function failureOf(e: unknown): Failure {
  if (e instanceof PasswordException) return 'password';
  if (e instanceof InvalidPDFException) return 'damaged';
  if (e instanceof ResponseException) return e.status === 404 ? 'missing' : 'unreachable';
  return e instanceof TypeError ? 'unreachable' : 'damaged';
}

/** An open PDF file, read by a worker of its own. */
export class Pdf {
  #texts = new Map<number, Promise<PageText>>();
  private constructor(
    readonly document: PDFDocumentProxy,
    readonly close: () => void,
  ) {}

  /** Opens a file. Aborting the signal closes it. `onprogress` gets the loaded share, from 0 to 1. */
  static async open(url: string, signal: AbortSignal, onprogress: (share: number) => void): Promise<Pdf> {
    const port = new Worker(policy?.createScriptURL(workerAddress) ?? workerAddress, { type: 'module' });
    const worker = PDFWorker.create({ port });
    let task: PDFDocumentLoadingTask | undefined = undefined;
    const close = () => {
      void task?.destroy();
      worker.destroy();
      port.terminate();
    };
    signal.addEventListener('abort', close);
    try {
      task = getDocument({
        url,
        worker,
        verbosity: 0,
        rangeChunkSize: CHUNK_BYTES,
        useWorkerFetch: false,
        BinaryDataFactory: DataFiles,
      });
      task.onProgress = ({ loaded, total }: { loaded: number; total: number }) => {
        if (total) onprogress(Math.min(loaded / total, 1));
      };
      return new Pdf(await task.promise, close);
    } catch (e) {
      close();
      throw new PdfError(failureOf(e));
    }
  }

  get pages(): number {
    return this.document.numPages;
  }

  page(n: number): Promise<PDFPageProxy> {
    return this.document.getPage(n);
  }

  /** The size of a page in CSS pixels at 100 %. */
  async size(n: number): Promise<{ width: number; height: number }> {
    const { width, height } = (await this.page(n)).getViewport({ scale: 1 });
    return { width, height };
  }

  text(n: number): Promise<PageText> {
    let text = this.#texts.get(n);
    if (!text) {
      text = this.#readText(n);
      this.#texts.set(n, text);
    }
    return text;
  }

  async #readText(n: number): Promise<PageText> {
    const content = await (await this.page(n)).getTextContent();
    const items = content.items.map((i) => ('str' in i ? i.str : ''));
    return { items, folded: fold(items), content };
  }

  /** Draws a page on a new canvas. It returns undefined if the signal is aborted first. */
  async draw(n: number, scale: number, signal: AbortSignal): Promise<HTMLCanvasElement | undefined> {
    const page = await this.page(n);
    const plain = page.getViewport({ scale });
    const limit = Math.sqrt(MAX_CANVAS_PIXELS / (plain.width * plain.height));
    const viewport = page.getViewport({ scale: scale * Math.min(devicePixelRatio || 1, limit) });
    const canvas = document.createElement('canvas');
    canvas.width = Math.max(1, Math.floor(viewport.width));
    canvas.height = Math.max(1, Math.floor(viewport.height));
    if (signal.aborted) return undefined;
    const task = page.render({ canvas, viewport });
    const cancel = () => task.cancel();
    signal.addEventListener('abort', cancel);
    try {
      await task.promise;
      return canvas;
    } catch (e) {
      if (signal.aborted) return undefined;
      throw e;
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  }

  /** Adds the selectable, invisible text of a page to an element. It returns an element for each item. */
  async addText(n: number, container: HTMLElement): Promise<HTMLElement[]> {
    const [page, text] = await Promise.all([this.page(n), this.text(n)]);
    const layer = new TextLayer({
      textContentSource: text.content,
      container,
      viewport: page.getViewport({ scale: 1 }),
    });
    await layer.render();
    return layer.textDivs;
  }
}
