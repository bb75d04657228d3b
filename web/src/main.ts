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
