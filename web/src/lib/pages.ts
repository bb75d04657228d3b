import { t } from './i18n/index.svelte';

type Place = { to: string; label: string };

/** Pages of the main menu, in display order. */
export const main = (): Place[] => [
  { to: '/chat', label: t('chat') },
  { to: '/search', label: t('search') },
  { to: '/check', label: t('check') },
  { to: '/favourites', label: t('favourites') },
  { to: '/memories', label: t('memories') },
  { to: '/agents', label: t('agents') },
  { to: '/sources', label: t('sources') },
  { to: '/settings', label: t('settings') },
];

export const settings = (): Place[] => [
  { to: '/settings/profile', label: t('profile') },
  { to: '/settings/connect', label: t('connect') },
  { to: '/settings/connections', label: t('connections') },
  { to: '/settings/invitations', label: t('invitations') },
  { to: '/settings/keys', label: t('keys') },
  { to: '/settings/webhooks', label: t('webhooks') },
  { to: '/settings/links', label: t('links') },
  { to: '/settings/usage', label: t('usage') },
  { to: '/settings/subscription', label: t('subscription') },
  { to: '/settings/security', label: t('security') },
  { to: '/settings/audit', label: t('audit') },
  { to: '/settings/data', label: t('account_data') },
];
