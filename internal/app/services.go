package app

import (
	"carrel/internal/httpapi"
	"carrel/internal/task"
)

// services returns the services behind the REST API.
func (in *App) services() httpapi.Services {
	s := httpapi.Services{
		Agents: in.Agents, Sources: in.Sources, Intake: in.Imports, Memories: in.memories, Favourites: in.favourites, Threads: in.threads, Webhooks: in.webhooks,
		Credentials: in.Credentials, Sessions: in.sessions, Accounts: in.Accounts, Factors: in.factors, Proofs: in.proofs, Limits: in.limits, Passkeys: in.passkeys, Profiles: in.profiles, Plans: in.Plans, Spending: in.Spending, Usages: in.Usages,
		Directory: in.Directory, Exports: in.exports, Deletions: in.Deletions, Tasks: task.NewAdmin(in.Store, in.Tasks), Audit: in.Audit, Attempts: in.OAuth, Machinery: system{in, in.Clock.Now()},
		Idempotency: in.Store, Sealer: in.replies, Clock: in.Clock,
	}
	if in.billing != nil { // a nil *billing.Service would make a non-nil interface
		s.Billing = in.billing
	}
	return s
}
