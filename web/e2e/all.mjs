// Runs all browser tests in one process, so that they share a browser and sessions. The API coverage check is last.
import './chat.test.mjs';
import './app.test.mjs';
import './sources.test.mjs';
import './uploads.test.mjs';
import './zotero.test.mjs';
import './documents.test.mjs';
import './favourites.test.mjs';
import './admin.test.mjs';
import './sharing.test.mjs';
import './revoke.test.mjs';
import './refusals.test.mjs';
import './check.test.mjs';
import './reader.test.mjs';
import './pages.test.mjs';
