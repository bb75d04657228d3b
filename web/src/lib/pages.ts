import { t } from './i18n/index.svelte';

/** The pages that can be gone to from anywhere, in the order of the menu. */
export const pages = (): { to: string; label: string }[] => [
  { to: '/chat', label: t('chat') },
  { to: '/search', label: t('search') },
];
