package cli

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"carrel/client"
)

type searchCommand struct {
	connectFlags
	agentFlag
	Query  []string `arg:"" help:"The query: words, \"phrases\", author:NAME, -word."`
	Source string   `placeholder:"SOURCE" help:"The id or name of a source. Default: the default source of the agent."`
	From   int64    `placeholder:"YEAR" help:"Only documents published in this year or later."`
	To     int64    `placeholder:"YEAR" help:"Only documents published in this year or earlier."`
	Limit  int64    `default:"10" help:"The number of results, 1 to 100."`
}

// Run searches and prints the results.
func (c searchCommand) Run(ctx context.Context, env *Env) error {
	return c.withAgent(ctx, env, c.Agent, func(s *session, agent string) error {
		request := client.SearchRequest{Query: strings.Join(c.Query, " "), NumResults: &c.Limit}
		if c.From != 0 {
			request.FromYear = &c.From
		}
		if c.To != 0 {
			request.ToYear = &c.To
		}
		if c.Source != "" {
			id, err := s.sourceID(ctx, agent, c.Source)
			if err != nil {
				return err
			}
			request.SourceID = &id
		}
		reply, err := s.Search(ctx, agent, request)
		if err != nil {
			return err
		}
		if s.json {
			return s.printJSON(reply)
		}
		return s.printResults(reply)
	})
}

// sourcePrefix begins the ids of sources.
const sourcePrefix = "src_"

// sourceID returns the id of a source given by id or name.
func (s *session) sourceID(ctx context.Context, agent, wanted string) (string, error) {
	if strings.HasPrefix(wanted, sourcePrefix) {
		return wanted, nil
	}
	reply, err := s.ListSources(ctx, agent)
	if err != nil {
		return "", err
	}
	var names []string
	for _, src := range reply.Sources {
		if strings.EqualFold(src.Name, wanted) {
			return src.ID, nil
		}
		names = append(names, clean(src.Name))
	}
	return "", &commandError{
		message: "the agent has no source " + wanted, code: exitNotFound,
		hint: "Its sources: " + strings.Join(names, ", "),
	}
}

func (s *session) printResults(reply *client.SearchReply) error {
	var b strings.Builder
	if reply.Query.Corrected != "" {
		fmt.Fprintf(&b, "%s\n\n", s.screen.dim("Results for “"+clean(reply.Query.Corrected)+"”"))
	}
	if len(reply.Results) == 0 {
		b.WriteString("No document matches.\n")
	}
	for i, card := range reply.Results {
		fmt.Fprintf(&b, "%s %s%s\n", s.screen.dim(fmt.Sprintf("%2d.", i+1)),
			s.screen.bold(s.screen.link(card.URL, clean(card.Title))), bibliographic(card.Authors, card.Year))
		if snippet := strings.Join(strings.Fields(card.Snippet), " "); snippet != "" {
			b.WriteString(s.screen.wrap(snippet, "    "))
		}
		fmt.Fprintf(&b, "    %s\n", s.screen.dim(card.CardID))
	}
	for _, w := range reply.Warnings {
		fmt.Fprintf(&b, "%s\n", s.screen.dim("Warning: "+clean(w.Detail)))
	}
	_, err := io.WriteString(s.env.Out, b.String())
	return err
}

// bibliographic returns the authors and the year of a document, such as " — Diffie, Hellman (1976)".
func bibliographic(authors []string, year int64) string {
	out := ""
	switch {
	case len(authors) > 3:
		out = " — " + clean(authors[0]) + " et al."
	case len(authors) > 0:
		out = " — " + clean(strings.Join(authors, ", "))
	}
	if year != 0 {
		out += " (" + strconv.FormatInt(year, 10) + ")"
	}
	return out
}
