import { globalShortcuts, type GlobalShortcut } from './shortcuts';
import type { AroundKey } from './i18n/around.en';

/** A row of the list of shortcuts: its text, and its keys as `KeyboardEvent.key` names them. */
export type ShortcutRow = { text: AroundKey; keys: string[] };
export type ShortcutGroup = { title: AroundKey; rows: ShortcutRow[] };

function globalRow(name: GlobalShortcut): ShortcutRow {
  const { key, ctrl, shift } = globalShortcuts[name];
  return { text: `key.${name}`, keys: [...(ctrl ? ['Control'] : []), ...(shift ? ['Shift'] : []), key] };
}

/** All shortcuts. shortcuts.test.ts compares them with the handlers in the source. */
export const shortcutGroups: ShortcutGroup[] = [
  { title: 'keys.everywhere', rows: (Object.keys(globalShortcuts) as GlobalShortcut[]).map(globalRow) },
  {
    title: 'keys.chat',
    rows: [
      { text: 'key.send', keys: ['Enter'] },
      { text: 'key.break', keys: ['Shift', 'Enter'] },
      { text: 'key.stop', keys: ['Escape'] },
    ],
  },
  {
    title: 'keys.lists',
    rows: [
      { text: 'key.move', keys: ['ArrowUp', 'ArrowDown'] },
      { text: 'key.ends', keys: ['Home', 'End'] },
      { text: 'key.choose', keys: ['Enter', ' '] },
    ],
  },
  {
    title: 'keys.check',
    rows: [
      { text: 'key.check', keys: ['Control', 'Enter'] },
      { text: 'key.sentences', keys: ['j', 'k'] },
    ],
  },
  {
    title: 'keys.reader',
    rows: [
      { text: 'key.pages', keys: ['ArrowLeft', 'ArrowRight'] },
      { text: 'key.zoom', keys: ['+', '-'] },
      { text: 'key.fit', keys: ['0'] },
      { text: 'key.find', keys: ['Control', 'f'] },
    ],
  },
];
