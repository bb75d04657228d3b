import './app.css';
import { mount } from 'svelte';
import App from './App.svelte';
import { preferred, setLanguage } from './lib/i18n/index.svelte';
import { startTheme } from './lib/prefs.svelte';
import { startRouter } from './lib/router.svelte';

startTheme();
startRouter();
await setLanguage(preferred());
mount(App, { target: document.getElementById('app')! });

// After the first page, which does not need it.
addEventListener('load', () => {
  void import('./lib/serviceWorker').then((m) => m.registerServiceWorker()).catch(() => {}); // the app works without it
});
