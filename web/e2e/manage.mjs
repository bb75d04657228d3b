// Runs half of the browser tests in one process, so that they share a browser and sessions. The other half is in
// use.mjs and runs at the same time, with servers of its own. The check of all API calls comes last.
import './admin.test.mjs';
import './people.test.mjs';
import './sharing.test.mjs';
import './share.test.mjs';
import './revoke.test.mjs';
import './refusals.test.mjs';
import './stepup.test.mjs';
import './bin.test.mjs';
import './reading.test.mjs';
import './searching.test.mjs';
import './phone.test.mjs';
import './around.test.mjs';
import './agents.test.mjs';
import './docs.test.mjs';
import './documents.test.mjs';
import './check.test.mjs';
import './reader.test.mjs';
import './uploads.test.mjs';
import './newcomer.test.mjs';
import './calls.test.mjs';
