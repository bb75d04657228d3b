// Runs half of the browser tests in one process, so that they share a browser and sessions. The other half is in
// manage.mjs and runs at the same time, with servers of its own. The check of all API calls comes last.
import './start.test.mjs';
import './chat.test.mjs';
import './versions.test.mjs';
import './threads.test.mjs';
import './app.test.mjs';
import './sources.test.mjs';
import './zotero.test.mjs';
import './favourites.test.mjs';
import './languages.test.mjs';
import './pages.test.mjs';
import './calls.test.mjs';
