package cli

import (
	"context"
	"strconv"

	"carrel/internal/account"
	"carrel/internal/agent"
	"carrel/internal/core"
)

type agentCommands struct {
	Create agentCreate `cmd:"" help:"Create an agent."`
	List   agentList   `cmd:"" help:"List an account's agents."`
}

type agentCreate struct {
	User         string `required:"" aliases:"email" placeholder:"EMAIL" help:"The owner of the agent."`
	Name         string `required:"" help:"The agent's name."`
	Description  string `help:"A description of the agent."`
	Instructions string `help:"Instructions for the agent, part of every conversation."`
	JSON         bool   `help:"Print one JSON object: {\"agent\":{\"id\":…}}."`
}

// Run creates an agent.
func (c agentCreate) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.runForUser(ctx, env, c.User, func(a admin, u account.User) error {
		made, err := a.Agents.Create(ctx, core.Operator(u.ID), agent.Change{
			Name: &c.Name, Description: &c.Description, Instructions: &c.Instructions,
		})
		if err != nil {
			return err
		}
		return a.print(c.JSON, map[string]any{"agent": agentJSON(made)}, "Created agent %s (%s).", made.Name, made.ID)
	})
}

func agentJSON(a agent.Agent) map[string]any {
	return map[string]any{"id": a.ID, "name": a.Name, "defaultSourceId": a.DefaultSource(), "createdAt": date(a.CreatedAt)}
}

type agentList struct {
	userFlag
	JSON bool `help:"Print one JSON object: {\"agents\":[…]}."`
}

// Run lists agents.
func (c agentList) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.runForUser(ctx, env, c.User, func(a admin, u account.User) error {
		var objects []map[string]any
		var rows [][]string
		page := core.Page{Limit: core.MaxLimit}
		for {
			agents, next, err := a.Agents.List(ctx, core.Operator(u.ID), page)
			if err != nil {
				return err
			}
			for _, x := range agents {
				documents := 0
				for _, s := range x.Sources {
					documents += s.Documents
				}
				objects = append(objects, agentJSON(x))
				rows = append(rows,
					[]string{x.ID, x.Name, strconv.Itoa(len(x.Sources)), strconv.Itoa(documents), date(x.CreatedAt)})
			}
			if page.Cursor = next; next == "" {
				break
			}
		}
		if c.JSON {
			return a.print(true, map[string]any{"agents": objects}, "")
		}
		return a.table("ID\tNAME\tSOURCES\tDOCUMENTS\tCREATED", rows)
	})
}
