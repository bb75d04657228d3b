package mcp

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// prompt is a prepared request that uses the tools.
type prompt struct {
	name, title, description string
	arguments                []*sdk.PromptArgument
	text                     string
}

var agentArgument = &sdk.PromptArgument{
	Name:        "agentId",
	Title:       "Agent",
	Description: "The id of the agent to ask. When omitted, the best match is chosen.",
}

// prompts are the prompts that are offered. A line that mentions an argument in braces is left out if the argument is
// empty.
var prompts = []prompt{
	{
		name: "research", title: "Research a question",
		description: "Have an agent research a question and answer with citations.",
		arguments: []*sdk.PromptArgument{
			{Name: "question", Title: "Question", Description: "What to find out.", Required: true}, agentArgument,
		},
		text: `Find out: {question}

Use the agent {agentId}.
If no agent is named, call list_agents and choose the one whose sources fit. Prefer the user's own agents to shared ones.
Ask it with ask_agent and research set to true. When the reply says that the agent is still working, wait and read it with get_messages; do not ask again.
Then read the cited documents that matter with get_document and check that they say what is claimed.
Answer with the marks [n] of the citations, list the sources, and say plainly what the sources do not answer.`,
	},
	{
		name: "compare", title: "Compare", description: "Compare what the sources say about two or more things.",
		arguments: []*sdk.PromptArgument{
			{Name: "subjects", Title: "Subjects", Description: "What to compare, separated by commas.", Required: true},
			{Name: "aspects", Title: "Aspects", Description: "The criteria, separated by commas."},
			agentArgument,
		},
		text: `Compare by what the sources say: {subjects}

Compare them by: {aspects}.
Use the agent {agentId}.
If no agent is named, call list_agents and choose the one whose sources fit. Prefer the user's own agents to shared ones.
Search for each subject on its own with search, and read the best documents with get_document.
Answer with a table, a row for each aspect and a column for each subject. Every cell names its source; where the sources are silent, leave it empty and say so below.`,
	},
	{
		name: "summarise_source", title: "Summarise a source", description: "Get an overview of a source.",
		arguments: []*sdk.PromptArgument{
			{Name: "agentId", Title: "Agent", Description: "The id of the agent.", Required: true},
			{Name: "sourceId", Title: "Source", Description: "The id of the source. When omitted, the agent's default source."},
		},
		text: `Give an overview of a source of the agent {agentId}.

The source is {sourceId}.
If no source is named, take the agent's default source; get_agent says which.
Search it for its main subjects with search, several times and with different words, and look at the years that the replies count.
Answer with: what it is about, its main themes with two or three documents for each, the span of years, and what is missing that one would expect. Cite every document by its title and year.`,
	},
}

func addPrompts(server *sdk.Server, baseURL string) {
	for _, p := range prompts {
		server.AddPrompt(&sdk.Prompt{
			Name: p.name, Title: p.title, Description: p.description, Arguments: p.arguments, Icons: icons(baseURL, ""),
		}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			for _, a := range p.arguments {
				if a.Required && strings.TrimSpace(r.Params.Arguments[a.Name]) == "" {
					return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "The argument " + a.Name + " is required."}
				}
			}
			return &sdk.GetPromptResult{
				Description: p.description,
				Messages:    []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: p.fill(r.Params.Arguments)}}},
			}, nil
		})
	}
}

// fill inserts the arguments into the text. Braces inside an argument are not replaced.
func (p prompt) fill(arguments map[string]string) string {
	var pairs, lines []string
	for _, a := range p.arguments {
		if value := strings.TrimSpace(arguments[a.Name]); value != "" {
			pairs = append(pairs, "{"+a.Name+"}", value)
		}
	}
	values := strings.NewReplacer(pairs...)
	for line := range strings.SplitSeq(p.text, "\n") {
		if !p.lacks(line, arguments) {
			lines = append(lines, values.Replace(line))
		}
	}
	return strings.Join(lines, "\n")
}

// lacks reports whether a line mentions an empty argument.
func (p prompt) lacks(line string, arguments map[string]string) bool {
	for _, a := range p.arguments {
		if strings.Contains(line, "{"+a.Name+"}") && strings.TrimSpace(arguments[a.Name]) == "" {
			return true
		}
	}
	return false
}
