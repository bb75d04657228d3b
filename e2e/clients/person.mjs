// The edge between a client and the test that plays its person: the client prints the address to open, and the test goes
// through the pages until the browser is sent back here. What must never stand in a log is printed as a secret.
import http from 'node:http';

/** Starts to listen for the answer; open() has the person go to an address and returns where that ended. */
export async function person() {
  let arrived;
  const server = http.createServer((request, response) => {
    response.end('done');
    arrived?.(new URL(request.url, origin));
  });
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  const origin = `http://127.0.0.1:${server.address().port}`;
  return {
    redirectUri: `${origin}/callback`,
    open: (address) =>
      new Promise((resolve) => {
        arrived = resolve;
        console.log(`OPEN ${address}`);
      }),
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

export function secret(...values) {
  for (const value of values) if (value) console.log(`SECRET ${value}`);
}

export function check(truth, what) {
  if (!truth) throw new Error(what);
}
