/** A setting of the server and its value. */
export type Setting = readonly [name: string, value: string];

/** Settings that connect a provider. Values in angle brackets are to be replaced. */
export const presets = {
  ollama: [
    ['model', 'openai'],
    ['model-base-url', 'http://localhost:11434/v1'],
    ['model-name', 'llama3.1:8b'],
    ['model-price-in', '0'],
    ['model-price-out', '0'],
  ],
  openai: [
    ['model', 'openai'],
    ['model-api-key', '<your key>'],
    ['model-name', '<a model>'],
  ],
  anthropic: [
    ['model', 'anthropic'],
    ['model-api-key', '<your key>'],
    ['model-name', '<a model>'],
  ],
  other: [
    ['model', 'openai'],
    ['model-base-url', 'https://<host>/v1'],
    ['model-api-key', '<your key>'],
    ['model-name', '<a model>'],
  ],
} as const satisfies Record<string, readonly Setting[]>;

export type Preset = keyof typeof presets;

/** The settings as lines of the settings file. */
export const asFile = (settings: readonly Setting[]): string =>
  settings.map(([name, value]) => `${name} = ${value}`).join('\n');

/** The settings as environment variables. */
export const asEnvironment = (settings: readonly Setting[]): string =>
  settings.map(([name, value]) => `CARREL_${name.toUpperCase().replaceAll('-', '_')}=${value}`).join('\n');
