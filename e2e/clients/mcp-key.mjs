// A client of the Model Context Protocol with a key. The arguments are the address, the SDK (sdk is 1.x, client 2.x), the
// key, and the command of a program that stands in between, if any.
import { check } from './person.mjs';

const [, , base, sdk, key, ...command] = process.argv;
const { Client, StreamableHTTPClientTransport } =
  sdk === 'client'
    ? await import('@modelcontextprotocol/client')
    : {
        ...(await import('@modelcontextprotocol/sdk/client/index.js')),
        ...(await import('@modelcontextprotocol/sdk/client/streamableHttp.js')),
      };
const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js');

const headers = { Authorization: `Bearer ${key}` };
const transport = command.length
  ? new StdioClientTransport({ command: process.execPath, args: command, env: { ...process.env, CARREL_AUTH: headers.Authorization } })
  : new StreamableHTTPClientTransport(new URL('/mcp', base), { requestInit: { headers } });
const client = new Client({ name: `carrel-test-${sdk}`, version: '1.0.0' });
await client.connect(transport);

const { tools } = await client.listTools();
check(tools[0].name === 'list_agents' && tools[1].name === 'ask_agent', `the tools are ${tools.map((t) => t.name)}`);
const agents = await client.callTool({ name: 'list_agents', arguments: {} });
const agentId = agents.structuredContent.agents[0].id;

let steps = 0;
const asked = { name: 'ask_agent', arguments: { agentId, text: 'steps 3; stream Hello there' } };
const options = { onprogress: () => steps++ };
// Version 1 takes the shape of the result before the options.
const answer = sdk === 'client' ? await client.callTool(asked, options) : await client.callTool(asked, undefined, options);
check(answer.structuredContent.status === 'complete', `the answer is ${JSON.stringify(answer)}`);
// Through a pipe progress and the answer arrive together, and the SDK forgets who wants progress when the answer is there.
check(command.length > 0 || steps >= 3, `progress was reported ${steps} times`);

const missing = await client.callTool({ name: 'list_memories', arguments: { agentId: 'agt_none' } });
check(missing.isError && missing.content[0].text.startsWith('not_found: '), `what is not there is ${JSON.stringify(missing)}`);
const { resources } = await client.listResources();
const read = await client.readResource({ uri: resources[0].uri });
check(JSON.parse(read.contents[0].text).agent.id === agentId, 'the resource is another');
const { messages } = await client.getPrompt({ name: 'research', arguments: { question: 'Why?' } });
check(messages[0].content.text.startsWith('Find out: Why?'), 'the prompt is another');
await client.close();
process.exit(0);
