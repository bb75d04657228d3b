import { m } from './i18n/manage';
import { p } from './i18n/people';

/** Pages for administrators. */
export const adminPages = (): { to: string; label: string }[] => [
  { to: '/admin/users', label: m('users') },
  { to: '/admin/plans', label: m('plans') },
  { to: '/admin/models', label: p('models') },
  { to: '/admin/audit', label: m('all_audit') },
  { to: '/admin/system', label: m('system') },
];
