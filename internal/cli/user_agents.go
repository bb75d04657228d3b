package cli

import (
	"context"
	"strconv"

	"carrel/client"
)

type userAgentCommands struct {
	List   agentsList   `cmd:"" default:"withargs" help:"List the agents that you may use."`
	Create agentsCreate `cmd:"" help:"Create an agent."`
	Use    agentsUse    `cmd:"" help:"Choose the agent that commands use by default."`
}

type agentsList struct{ connectFlags }

// Run lists the agents. A star marks the default agent of the profile.
func (c agentsList) Run(ctx context.Context, env *Env) error {
	return c.with(env, func(s *session) error {
		agents, err := collect(0, s.ListAgentsAll(ctx, client.ListAgentsParams{Limit: 200}))
		if err != nil {
			return err
		}
		return list(s, "agents", agents, "You have no agent. Create one: carrel agents create NAME",
			[]string{"", "ID", "NAME", "DOCUMENTS", "ACCESS", "DESCRIPTION"}, func(a client.Agent) []string {
				mark, documents := " ", int64(0)
				if a.ID == s.profile.Agent {
					mark = "*"
				}
				for _, src := range a.Sources {
					documents += src.Documents
				}
				return []string{mark, a.ID, a.Name, strconv.FormatInt(documents, 10), a.Access, a.Description}
			})
	})
}

type agentsCreate struct {
	connectFlags
	Name         string  `arg:"" help:"The name of the agent."`
	Description  *string `placeholder:"TEXT" help:"What the agent is for."`
	Instructions *string `placeholder:"TEXT" help:"How the agent answers."`
}

// Run creates an agent.
func (c agentsCreate) Run(ctx context.Context, env *Env) error {
	return c.with(env, func(s *session) error {
		reply, err := s.CreateAgent(ctx, client.AgentCreate{
			Name: c.Name, Description: c.Description, Instructions: c.Instructions,
		})
		if err != nil {
			return err
		}
		next := "carrel import --agent " + reply.Agent.ID
		if s.name != "" { // without a sign-in there is no profile
			next = "carrel import --profile " + s.name + " --agent " + reply.Agent.ID
		}
		return s.done(reply, "Created the agent %s. Add documents: %s FILE…", reply.Agent.ID, next)
	})
}

type agentsUse struct {
	connectFlags
	Name string `arg:"" name:"agent" help:"The id or name of the agent."`
}

// Run stores the default agent in the profile.
func (c agentsUse) Run(ctx context.Context, env *Env) error {
	return c.withAgent(ctx, env, c.Name, func(s *session, id string) error {
		reply, err := s.GetAgent(ctx, id)
		if err != nil {
			return err
		}
		if s.name == "" {
			return &commandError{message: "a default agent needs a profile", code: exitUsage, hint: "Run: carrel login"}
		}
		err = s.store.updateProfile(ctx, s.name, func(p *profile) error {
			p.Agent = id
			return nil
		})
		if err != nil {
			return err
		}
		return s.done(reply, "Commands use the agent %s by default.", clean(reply.Agent.Name))
	})
}
