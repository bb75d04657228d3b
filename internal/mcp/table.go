package mcp

import (
	"strings"
	"unicode"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// entry says of an operation of the contract how it is offered as a tool. What is left out follows from the contract.
type entry struct {
	operation string
	// name is the tool's, where it is not the operation's.
	name string
	// reads says that an operation changes nothing though its method could, and destroys that it takes something away.
	reads, destroys bool
	// again says that doing it twice is doing it once, though its method does not promise that.
	again bool
	// open says that what is found may come from outside.
	open bool
	// more is added to the description.
	more string
}

// askTool is the tool that holds conversations. It is made by hand; see ask.go.
const askTool = "ask_agent"

// table lists the tools in the order in which they are offered: what is asked for most comes first. A test compares it
// with the contract, so that no operation is forgotten.
var table = []entry{
	{operation: "listAgents"},
	{operation: "sendMessage", name: askTool, open: true},
	{operation: "search", reads: true, open: true},
	{operation: "getDocument"},
	{
		operation: "listMessages", name: "get_messages",
		more: "The reply to a question that was still being worked on stands here as soon as it is there.",
	},
	{operation: "cancelTurn", destroys: true, again: true},
	{operation: "listThreads"},
	{operation: "createThread"},
	{operation: "getThread"},
	{operation: "renameThread"},
	{operation: "exportThread"},
	{operation: "deleteThread"},
	{operation: "giveFeedback"},
	{operation: "removeFeedback"},
	{operation: "listMemories"},
	{operation: "addMemory", again: true},
	{operation: "changeMemory"},
	{operation: "confirmMemory", again: true},
	{operation: "dismissMemory", destroys: true, again: true},
	{operation: "deleteMemory"},
	{operation: "listFavourites"},
	{operation: "saveFavourite", again: true},
	{operation: "exportFavourites"},
	{operation: "deleteFavourite"},
	{operation: "listSources"},
	{operation: "getSource"},
	{operation: "listFiles"},
	{operation: "listImports"},
	{operation: "syncSource", again: true, open: true},
	{operation: "createSource"},
	{operation: "changeSource"},
	{operation: "deleteFile"},
	{operation: "deleteSource"},
	{operation: "getAgent"},
	{operation: "createAgent"},
	{operation: "changeAgent"},
	{operation: "deleteAgent"},
	{operation: "listGrants"},
	{operation: "putGrant"},
	{operation: "deleteGrant"},
}

// notTools are the operations that have no tool, with the reason: by path, or by method and path. One that ends in a slash
// stands for all below.
var notTools = map[string]string{
	"/api/account":          "the account is its owner's: a connected program works with agents and nothing else",
	"/api/account/":         "as the account",
	"/api/admin/":           "administration is for people who signed in",
	"/api/billing/stripe":   "the payment provider calls it",
	"/api/connect/exchange": "it makes a credential; whoever calls a tool has one",
	"/api/auth/":            "the authorization server, which speaks for itself",
	"/.well-known/":         "metadata, which is public",
	"POST /api/agents/{agentId}/sources/{sourceId}/files":         "the bytes of files, for which the arguments of a tool are no place",
	"/api/agents/{agentId}/sources/{sourceId}/uploads":            "as files",
	"/api/agents/{agentId}/sources/{sourceId}/uploads/{uploadId}": "as files",
	"/api/agents/{agentId}/sources/{sourceId}/events":             "a stream: list_imports says how far an import is",
	"/api/agents/{agentId}/threads/{threadId}/events":             "a stream: ask_agent reports progress, and subscriptions report changes",
}

// toolName is the tool's name for an operation: listAgents is list_agents.
func (e entry) toolName() string {
	if e.name != "" {
		return e.name
	}
	var b strings.Builder
	for _, r := range e.operation {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}

// title is the name as a person would write it.
func title(name string) string {
	words := strings.ReplaceAll(name, "_", " ")
	first, size := utf8.DecodeRuneInString(words)
	return string(unicode.ToUpper(first)) + words[size:]
}

// annotations follow from the method, as HTTP has it: GET changes nothing, PUT, PATCH and DELETE take the place of what
// was there and may be repeated, POST adds.
func (e entry) annotations(method string) *sdk.ToolAnnotations {
	reads := e.reads || method == "GET"
	replaces := method == "PUT" || method == "PATCH" || method == "DELETE"
	destroys := e.destroys || replaces
	return &sdk.ToolAnnotations{
		ReadOnlyHint: reads, DestructiveHint: &destroys, IdempotentHint: reads || replaces || e.again, OpenWorldHint: &e.open,
	}
}
