/** Shortcuts that work on every page. */
export type GlobalShortcut = 'palette' | 'new_chat' | 'focus' | 'help' | 'search' | 'stars';

type Keys = { key: string; ctrl?: true; shift?: true };

/** The keys of the global shortcuts. Those without Ctrl are ignored while the user types. */
export const globalShortcuts: Record<GlobalShortcut, Keys> = {
  palette: { key: 'k', ctrl: true },
  new_chat: { key: 'o', ctrl: true, shift: true },
  search: { key: 'f', ctrl: true, shift: true },
  stars: { key: 's', ctrl: true, shift: true },
  focus: { key: '/' },
  help: { key: '?' },
};

const isTyping = (el: HTMLElement) => el.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(el.tagName);

/** The global shortcut of an event, if it is one. */
export function shortcutOf(e: KeyboardEvent): GlobalShortcut | undefined {
  const ctrl = e.metaKey || e.ctrlKey;
  return (Object.keys(globalShortcuts) as GlobalShortcut[]).find((name) => {
    const s = globalShortcuts[name];
    if (s.key !== e.key.toLowerCase() || e.altKey || ctrl !== !!s.ctrl) return false;
    return s.ctrl ? e.shiftKey === !!s.shift : !isTyping(e.target as HTMLElement);
  });
}
