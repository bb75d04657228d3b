package cli

import (
	"context"
	"strings"

	"carrel/client"
)

type memoryCommands struct {
	List   memoriesList   `cmd:"" default:"withargs" help:"List the memories of an agent."`
	Add    memoriesAdd    `cmd:"" help:"Add a memory."`
	Delete memoriesDelete `cmd:"" help:"Delete a memory."`
}

type memoriesList struct {
	connectFlags
	agentFlag
	limitFlag
}

// Run lists memories.
func (c memoriesList) Run(ctx context.Context, env *Env) error {
	return c.withAgent(ctx, env, c.Agent, func(s *session, agent string) error {
		memories, err := collect(c.Limit, s.ListMemoriesAll(ctx, agent, client.ListMemoriesParams{}))
		if err != nil {
			return err
		}
		return list(s, "memories", memories, "There is no memory. Add one: carrel memories add \"…\"",
			[]string{"ID", "STATUS", "TEXT"}, func(m client.Memory) []string {
				return []string{m.ID, m.Status, m.Text}
			})
	})
}

type memoriesAdd struct {
	connectFlags
	agentFlag
	Text []string `arg:"" help:"The fact that the agent may use in later conversations."`
}

// Run adds a memory.
func (c memoriesAdd) Run(ctx context.Context, env *Env) error {
	return c.withAgent(ctx, env, c.Agent, func(s *session, agent string) error {
		reply, err := s.AddMemory(ctx, agent, client.MemoryText{Text: strings.Join(c.Text, " ")})
		if err != nil {
			return err
		}
		return s.done(reply, "Added %s.", reply.Memory.ID)
	})
}

type memoriesDelete struct {
	connectFlags
	agentFlag
	ID string `arg:"" name:"id" help:"The id of the memory."`
}

// Run deletes a memory.
func (c memoriesDelete) Run(ctx context.Context, env *Env) error {
	return c.withAgent(ctx, env, c.Agent, func(s *session, agent string) error {
		reply, err := s.DeleteMemory(ctx, agent, c.ID)
		if err != nil {
			return err
		}
		return s.done(reply, "Deleted %s.", c.ID)
	})
}
