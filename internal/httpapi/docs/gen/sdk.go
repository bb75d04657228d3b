package main

import (
	"strings"

	"carrel/internal/lazyregexp"
)

// sdkToken matches the tokens of TypeScript and Python that are highlighted.
var sdkToken = lazyregexp.New(`(?P<cmd>\b(?:import|from|const|await|for|of|in|if|new)\b)|(?P<str>b?"(?:[^"\\]|\\.)*")|` +
	`(?P<lit>\b(?:true|false|null|True|False|None|\d+)\b)`)

// sdk is a client library of a language.
type sdk struct {
	language
	notation notation
	name     func(string) string // writes the name of a method, a variable or an argument
	call     string              // what is in front of the name of a method
	steps    string              // the first steps; $server is the address of the server
	// written are the samples of operations with methods that are not generated from the contract.
	written map[string]string
}

var sdks = []sdk{
	{
		language: typescript, notation: scriptNotation, name: func(s string) string { return s },
		call: "const reply = await carrel.",
		steps: `import { Carrel } from "carrel";

const carrel = new Carrel("$server", { token: process.env.CARREL_KEY });
const { agents } = await carrel.listAgents();
const agentId = agents[0].id;
const { thread } = await carrel.createThread(agentId, {});
const threadId = thread.id;
const reply = await carrel.ask(agentId, "Who proposed the relational model?", { threadId });
console.log(reply.text);`,
		written: map[string]string{
			"uploadFiles": `const reply = await carrel.uploadFile(agentId, sourceId, "note.txt", "A note.");`,
			"streamEvents": `for await (const event of carrel.streamTurn(agentId, threadId)) {
  if (event.kind === "delta") process.stdout.write(event.text);
}`,
		},
	},
	{
		language: python, notation: pythonNotation, name: snake, call: "reply = carrel.",
		steps: `import os
from carrel import Client

carrel = Client("$server", os.environ["CARREL_KEY"])
agent_id = carrel.list_agents()["agents"][0]["id"]
thread_id = carrel.create_thread(agent_id, {})["thread"]["id"]
reply = carrel.ask(agent_id, "Who proposed the relational model?", thread_id=thread_id)
print(reply["text"])`,
		written: map[string]string{
			"uploadFiles": `reply = carrel.upload_file(agent_id, source_id, b"A note.", name="note.txt")`,
			"streamEvents": `for event in carrel.stream_turn(agent_id, thread_id):
    if event.kind == "delta":
        print(event.data["text"], end="")`,
		},
	},
}

// sample returns the statement that calls an operation, or "" if the library has no method for it.
func (s *sdk) sample(c *call) string {
	if written := s.written[c.id]; written != "" {
		return written
	}
	if !c.inClients {
		return ""
	}
	method := s.call + s.name(c.id) + "("
	var arguments []string
	for _, name := range c.parameters() {
		arguments = append(arguments, s.name(name))
	}
	before := strings.Join(arguments, ", ")
	if c.body != nil {
		if before != "" {
			before += ", "
		}
		before += s.notation.write(c.body, 0, len(method)+len(before)+2)
	}
	if query := s.query(c); query != "" {
		if before != "" {
			before += ", "
		}
		before += query
	}
	end := ")"
	if s.ID == typescript.ID {
		end = ");"
	}
	return method + before + end
}

// query returns the arguments of the required query parameters: an object in TypeScript, keywords in Python.
func (s *sdk) query(c *call) string {
	if s.ID == python.ID {
		var arguments []string
		for _, q := range c.query {
			arguments = append(arguments, snake(q.name)+"="+quoted(q.value))
		}
		return strings.Join(arguments, ", ")
	}
	if len(c.query) == 0 {
		return ""
	}
	object := newObject()
	for _, q := range c.query {
		object.set(q.name, q.value)
	}
	return s.notation.line(object)
}
