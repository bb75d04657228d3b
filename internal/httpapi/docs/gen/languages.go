package main

import (
	"strings"

	"carrel/internal/lazyregexp"
)

// language is a language of the examples. ID is the class of its samples.
type language struct{ ID, Name string }

// The languages of the examples. The first one is shown until another one is chosen.
var (
	curl       = language{"curl", "curl"}
	cli        = language{"cli", "CLI"}
	typescript = language{"typescript", "TypeScript"}
	python     = language{"python", "Python"}
	languages  = []language{curl, cli, typescript, python}
)

// shellToken matches the tokens of shell commands that are highlighted.
var shellToken = lazyregexp.New(
	`(?P<cmd>\bcurl\b|\bexport\b|\bcarrel\b )|(?P<str>'[^']*'|"[^"]*")|(?P<rem>(?:^|\s)#.*)`,
)

// requests returns the request in each language. The curl command is also shown for languages without one.
func (c *call) requests(baseURL string) []request {
	first := newRequest(curl, shellToken, c.curl(baseURL))
	var others []request
	add := func(l language, token *lazyregexp.Regexp, sample string) {
		if sample == "" {
			first.Classes += " " + l.ID
			return
		}
		others = append(others, newRequest(l, token, sample))
	}
	add(cli, shellToken, commands[c.id])
	for _, s := range sdks {
		add(s.language, sdkToken, s.sample(c))
	}
	return append([]request{first}, others...)
}

func newRequest(l language, token *lazyregexp.Regexp, sample string) request {
	return request{Title: l.Name, Classes: l.ID, Code: highlight(token, sample)}
}

// commands are the commands of the CLI that call an operation. Tests run them.
var commands = map[string]string{
	"listAgents":          `carrel agents`,
	"createAgent":         `carrel agents create Landmarks --description "Landmark works of computing."`,
	"search":              `carrel search --agent "$AGENT_ID" --from 1960 --to 1979 "who proposed the relational model"`,
	"uploadFiles":         `carrel import --agent "$AGENT_ID" --source "$SOURCE_ID" note.txt`,
	"listMemories":        `carrel memories --agent "$AGENT_ID"`,
	"addMemory":           `carrel memories add --agent "$AGENT_ID" "I prefer primary sources."`,
	"deleteMemory":        `carrel memories delete --agent "$AGENT_ID" "$MEMORY_ID"`,
	"listFavourites":      `carrel favourites --agent "$AGENT_ID"`,
	"saveFavourite":       `carrel favourites add --agent "$AGENT_ID" "a relational model of data"`,
	"deleteFavourite":     `carrel favourites remove --agent "$AGENT_ID" "$CARD_ID"`,
	"listThreads":         `carrel threads --agent "$AGENT_ID"`,
	"createThread":        `carrel ask --agent "$AGENT_ID" "Who proposed the relational model?"  # a new thread`,
	"sendMessage":         `carrel ask --agent "$AGENT_ID" --thread "$THREAD_ID" "Who proposed the relational model?"`,
	"listMessages":        `carrel threads show --agent "$AGENT_ID" "$THREAD_ID"`,
	"exportThread":        `carrel threads export --agent "$AGENT_ID" "$THREAD_ID"`,
	"cancelTurn":          `carrel threads cancel --agent "$AGENT_ID" "$THREAD_ID"`,
	"deleteThread":        `carrel threads delete --agent "$AGENT_ID" "$THREAD_ID"`,
	"streamEvents":        `carrel ask --agent "$AGENT_ID" --resume "$THREAD_ID"`,
	"getAccount":          `carrel whoami`,
	"createExport":        `carrel export -o carrel-export.zip`,
	"exchangeConnectCode": `carrel login --server "$CARREL_SERVER" --code 'crlc_…'`,
}

// firstSteps returns a first conversation in each language. It needs a key with the default scopes, and sets the ids of
// an agent and a thread, which most examples use.
func (d *document) firstSteps() []request {
	agents := call{method: "GET", path: "/api/agents"}
	thread := call{method: "POST", path: "/api/agents/{agentId}/threads", body: newObject()}
	question := newObject()
	question.set("text", "Who proposed the relational model?")
	message := call{method: "POST", path: "/api/agents/{agentId}/threads/{threadId}/messages", body: question}
	withCurl := []string{
		"export CARREL_KEY='crl_…'  # your key",
		"export AGENT_ID=" + firstID(agents.curl(d.baseURL), "agt_"),
		"export THREAD_ID=" + firstID(thread.curl(d.baseURL), "thr_"),
		message.curl(d.baseURL),
	}
	withCLI := []string{
		"export CARREL_SERVER='" + d.baseURL + "' CARREL_KEY='crl_…'  # your key",
		"export AGENT_ID=" + firstID("carrel agents", "agt_"),
		`carrel ask --agent "$AGENT_ID" "Who proposed the relational model?"`,
		"export THREAD_ID=" + firstID(`carrel threads --agent "$AGENT_ID"`, "thr_"),
	}
	out := []request{
		newRequest(curl, shellToken, strings.Join(withCurl, "\n")),
		newRequest(cli, shellToken, strings.Join(withCLI, "\n")),
	}
	for _, s := range sdks {
		out = append(out, newRequest(s.language, sdkToken, strings.ReplaceAll(s.steps, "$server", d.baseURL)))
	}
	return out
}
