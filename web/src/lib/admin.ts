import { m } from './i18n/manage';

/** Pages for administrators. */
export const adminPages = (): { to: string; label: string }[] => [
  { to: '/admin/users', label: m('users') },
  { to: '/admin/plans', label: m('plans') },
  { to: '/admin/audit', label: m('all_audit') },
  { to: '/admin/system', label: m('system') },
];
